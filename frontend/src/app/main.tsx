import "@fontsource-variable/inter/opsz.css";
import "@fontsource-variable/jetbrains-mono/index.css";
import "@/styles/tokens.css";
import "@/styles/base.css";

import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { ApiError } from "@/lib/api/client";
import { sessionQuery, traceQuery } from "@/lib/api/queries";
import { handle } from "@/lib/hotkeys";
import { prefetchRoute } from "@/lib/prefetch";

import { App } from "./app";

/** A session that ended leads to the sign-in, which leads back here. */
const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      if (error instanceof ApiError && error.status === 401) queries.setQueryData(sessionQuery.queryKey, null);
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (failures, error) => failures < 2 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
    },
  },
});

/** Who one is, the page's code and its trace are asked for at once, not one after the other. */
function ask(): void {
  const path = window.location.pathname;
  void queries.prefetchQuery(sessionQuery);
  prefetchRoute(path);
  const [, project, trace] = /^\/p\/([^/]+)\/traces\/([0-9a-f]{32})$/.exec(path) ?? [];
  if (project && trace) void queries.prefetchQuery(traceQuery(decodeURIComponent(project), trace));
}

ask();
window.addEventListener("keydown", handle);

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
