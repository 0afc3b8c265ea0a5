/** One door to the server: JSON in, JSON out, every failure an ApiError that says what happened. */

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly field: string | null = null,
    /** The error as the server wrote it, with what only some have. */
    readonly told: object = {},
  ) {
    super(message);
    this.name = "ApiError";
  }
}

type Query = Record<string, string | number | undefined | null>;

function csrfToken(): string {
  return /(?:^|;\s*)csrftoken=([^;]+)/.exec(document.cookie)?.[1] ?? "";
}

export function headersFor(method: string, hasBody: boolean): Record<string, string> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (hasBody) headers["Content-Type"] = "application/json";
  if (method !== "GET") headers["X-CSRFToken"] = csrfToken();
  return headers;
}

/** Reads either error shape (ours, and OpenAI's) out of an answer that failed. */
export async function errorFrom(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { error: Record<string, string | null> };
    const code = error.code ?? error.type ?? "error";
    return new ApiError(response.status, code, error.message ?? code, error.field ?? error.param, error);
  } catch {
    return new ApiError(response.status, "http", `The server answered ${response.status} ${response.statusText}`.trim());
  }
}

export function withQuery(path: string, query: Query | URLSearchParams = {}): string {
  const params = query instanceof URLSearchParams ? query : new URLSearchParams();
  if (!(query instanceof URLSearchParams)) {
    for (const [key, value] of Object.entries(query)) {
      if (value !== undefined && value !== null && value !== "") params.set(key, String(value));
    }
  }
  const search = params.toString();
  return search ? `${path}${path.includes("?") ? "&" : "?"}${search}` : path;
}

async function request<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  let response: Response;
  try {
    response = await fetch(`/api/${path}`, {
      method,
      headers: headersFor(method, body !== undefined),
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      credentials: "same-origin",
    });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new ApiError(0, "unreachable", "The server does not answer. Is it running?");
  }
  if (!response.ok) throw await errorFrom(response);
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

export const api = {
  get: <T>(path: string, signal?: AbortSignal) => request<T>("GET", path, undefined, signal),
  post: <T>(path: string, body: unknown = {}) => request<T>("POST", path, body),
  put: <T>(path: string, body: unknown = {}) => request<T>("PUT", path, body),
  patch: <T>(path: string, body: unknown = {}) => request<T>("PATCH", path, body),
  delete: <T = void>(path: string) => request<T>("DELETE", path),
};

/** Path of a project's resource; each segment is escaped, slashes inside a prompt's name are kept. */
export function inProject(project: string, ...segments: (string | number)[]): string {
  const escaped = segments.map((s) => String(s).split("/").map(encodeURIComponent).join("/"));
  return ["projects", encodeURIComponent(project), ...escaped].join("/");
}

/** What to tell a person about a failure. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
