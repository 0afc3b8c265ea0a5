/** A draft in a link: packed into the part of the address that no server sees. */

import { column, keyed, type Draft } from "./draft";

const NAME = "draft";
const MOST_LEN = 200_000; // of a link; browsers take 2 MB

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** `#draft=…`; null where the draft is too long for a link. */
export async function packed(draft: Draft): Promise<string | null> {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(draft)), new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  const text = btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return text.length > MOST_LEN ? null : `#${NAME}=${text}`;
}

export const isPacked = (hash: string): boolean => hash.startsWith(`#${NAME}=`);

/** The draft of a link; throws where the link was cut or made by something else. */
export async function unpacked(hash: string): Promise<Draft> {
  try {
    const binary = atob(hash.slice(NAME.length + 2).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    return renewed(JSON.parse(new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")))) as Draft);
  } catch {
    throw new Error("The link is not whole: ask for it again.");
  }
}

/** With keys of this page, and all that older drafts lack. */
export function renewed(draft: Draft): Draft {
  return {
    messages: draft.messages.map(keyed),
    variables: { ...draft.variables },
    columns: draft.columns.map(({ model, parameters, version }) => column(model, { ...parameters }, version ?? null)),
    source: draft.source ?? null,
    tools: draft.tools ?? "",
    format: draft.format ?? "",
  };
}
