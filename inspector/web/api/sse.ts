/** One event of a stream of server-sent events. */
export interface Frame {
  id?: string;
  data: string;
}

/** Takes a stream apart, in whatever pieces it comes. Comments and other fields are passed over. */
export class SseParser {
  #rest = "";
  #data: string[] = [];
  #id: string | undefined;

  push(piece: string): Frame[] {
    const frames: Frame[] = [];
    const text = this.#rest + piece;
    // A carriage return at the end may be half of a line end.
    const lines = text.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        if (this.#data.length > 0) {
          frames.push({ ...(this.#id === undefined ? {} : { id: this.#id }), data: this.#data.join("\n") });
        }
        this.#data = [];
        this.#id = undefined;
        continue;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "data") this.#data.push(value);
      if (field === "id") this.#id = value;
    }
    return frames;
  }
}

/** The frames of a response, as they come. */
export async function* framesOf(response: Response): AsyncGenerator<Frame> {
  if (response.body === null) return;
  const parser = new SseParser();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parser.push(value);
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}
