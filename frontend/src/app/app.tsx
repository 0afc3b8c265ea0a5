import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import { Redirect, Route, Switch, useLocation, useRoute } from "wouter";

import { Notices } from "@/components/notices";
import { Empty, Failure, Skeleton } from "@/components/states";
import { ProjectContext } from "@/hooks/use-project";
import { sessionQuery } from "@/lib/api/queries";
import type { Session } from "@/lib/api/types";
import { recall, remember } from "@/lib/storage";

import { ErrorBoundary } from "./error-boundary";
import { routes } from "./routes";
import { Shell } from "./shell";

const NotFound = lazy(() => import("./not-found"));
const Login = lazy(() => import("@/features/login/login-page"));

export function App() {
  const session = useQuery(sessionQuery);
  if (session.data === undefined) {
    if (session.error) return <Failure what="Hone could not start" error={session.error} retry={() => void session.refetch()} />;
    return <div aria-busy="true" />;
  }
  return (
    <>
      <Switch>
        <Route path="/login">
          <Suspense>
            <Login />
          </Suspense>
        </Route>
        <Route>{session.data ? <SignedIn session={session.data} /> : <ToLogin />}</Route>
      </Switch>
      <Notices />
    </>
  );
}

/** Remembers where one wanted to go. */
function ToLogin() {
  const [path] = useLocation();
  const next = path + window.location.search;
  return <Redirect to={next === "/" ? "/login" : `/login?next=${encodeURIComponent(next)}`} replace />;
}

function SignedIn({ session }: { session: Session }) {
  const [, params] = useRoute<{ project: string; "*"?: string }>("/p/:project/*?");
  const slug = params?.project;
  const project = useMemo(() => session.projects.find((p) => p.slug === slug), [session, slug]);
  if (slug === undefined) return <ToProject session={session} />;
  if (!project) {
    return (
      <Empty title="There is no such project here">
        <p>It may have been renamed, or this account may not see it.</p>
        <ToAnother session={session} />
      </Empty>
    );
  }
  remember("project", slug);
  return (
    <ProjectContext value={project}>
      <Shell session={session}>
        <ErrorBoundary>
          <Suspense fallback={<Skeleton />}>
            <Switch>
              {routes.map(({ path, Page }) => (
                <Route key={path} path={path}>
                  <Page key={project.slug} />
                </Route>
              ))}
              <Route path="/p/:project/settings">
                <Redirect to={`/p/${project.slug}/settings/keys`} replace />
              </Route>
              <Route path="/p/:project">
                <Redirect to={`/p/${project.slug}/traces`} replace />
              </Route>
              <Route>
                <NotFound />
              </Route>
            </Switch>
          </Suspense>
        </ErrorBoundary>
      </Shell>
    </ProjectContext>
  );
}

function ToProject({ session }: { session: Session }) {
  const latest = recall<string | null>("project", null);
  const project = session.projects.find((p) => p.slug === latest) ?? session.projects[0];
  if (!project) return <Empty title="No project yet">Ask an owner of your organization to add you to one.</Empty>;
  return <Redirect to={`/p/${project.slug}/traces`} replace />;
}

function ToAnother({ session }: { session: Session }) {
  return (
    <ul>
      {session.projects.map((p) => (
        <li key={p.slug}>
          <a className="table-name" href={`/p/${p.slug}/traces`}>
            {p.name}
          </a>
        </li>
      ))}
    </ul>
  );
}
