/** Ids that others chose, in addresses: they may hold slashes and signs. */

export const inPath = (id: string): string => id.split("/").map(encodeURIComponent).join("/");

/** The router decodes some signs and leaves others; what is no code is meant as it is. */
export function outOfPath(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
