/** Addresses of other pages that a version can be opened in. */

export const playgroundHref = (project: string, name: string, version: number): string =>
  `/p/${project}/playground?${new URLSearchParams({ prompt: name, version: String(version) })}`;

export const batchHref = (project: string, name: string, version: number): string =>
  `/p/${project}/runs?${new URLSearchParams({ new: "1", prompt: name, version: String(version) })}`;
