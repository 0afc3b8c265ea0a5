/** Code of a route is fetched when the mouse nears a link to it. */

type Loader = () => Promise<unknown>;

const routes: { pattern: RegExp; load: Loader }[] = [];

export function onRoute(pattern: RegExp, load: Loader): void {
  routes.push({ pattern, load });
}

export function prefetchRoute(href: string): void {
  const path = href.split("?")[0]!;
  // A failed prefetch is repeated, and told, by the visit itself.
  void routes.find((route) => route.pattern.test(path))?.load().catch(() => undefined);
}
