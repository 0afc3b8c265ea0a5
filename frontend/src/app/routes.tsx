/** Pages and their addresses; each page's code is its own file of the build. */

import { lazy, type ComponentType } from "react";

import { onRoute } from "@/lib/prefetch";

type PageModule = { default: ComponentType };

interface Route {
  path: string;
  Page: ComponentType;
}

function page(path: string, load: () => Promise<PageModule>): Route {
  onRoute(new RegExp(`^/p/[^/]+${path.replace("/*", "/.+").replace(/:\w+/g, "[^/]+")}$`), load);
  return { path: `/p/:project${path}`, Page: lazy(load) };
}

export const routes: Route[] = [
  page("/traces", () => import("@/features/traces/traces-page")),
  page("/traces/:traceId", () => import("@/features/trace/trace-page")),
  page("/observations", () => import("@/features/observations/observations-page")),
  page("/sessions", () => import("@/features/groups/sessions-page")),
  page("/sessions/*", () => import("@/features/groups/session-page")),
  page("/users", () => import("@/features/groups/users-page")),
  page("/users/*", () => import("@/features/groups/user-page")),
  page("/compare", () => import("@/features/compare/compare-page")),
  page("/prompts", () => import("@/features/prompts/prompts-page")),
  page("/prompts/*", () => import("@/features/prompts/prompt-page")),
  page("/together/*", () => import("@/features/together/together-page")),
  page("/playground", () => import("@/features/playground/playground-page")),
  page("/runs", () => import("@/features/runs/runs-page")),
  page("/runs/:runId", () => import("@/features/runs/run-page")),
  page("/datasets", () => import("@/features/datasets/datasets-page")),
  page("/datasets/:datasetId", () => import("@/features/datasets/dataset-page")),
  page("/datasets/:datasetId/runs/:runId", () => import("@/features/datasets/run-link-page")),
  page("/experiments/:runId", () => import("@/features/datasets/experiment-page")),
  page("/settings/:tab", () => import("@/features/settings/settings-page")),
];
