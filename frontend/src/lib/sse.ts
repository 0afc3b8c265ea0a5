/** Server-sent events out of a byte stream, for answers that come to a POST. */

export interface ServerEvent {
  event: string;
  data: string;
}

/** Feeds on text in any pieces and returns the events that became complete. */
export class EventParser {
  #rest = "";

  push(text: string): ServerEvent[] {
    const blocks = (this.#rest + text).replace(/\r\n?/g, "\n").split("\n\n");
    this.#rest = blocks.pop() ?? "";
    return blocks.map(parseBlock).filter((event) => event !== null);
  }
}

function parseBlock(block: string): ServerEvent | null {
  let event = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const value = line.slice(colon + 1).replace(/^ /, "");
    const field = line.slice(0, colon);
    if (field === "data") data.push(value);
    else if (field === "event") event = value;
  }
  return data.length > 0 ? { event, data: data.join("\n") } : null;
}

export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const parser = new EventParser();
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    reader.releaseLock();
  }
}
