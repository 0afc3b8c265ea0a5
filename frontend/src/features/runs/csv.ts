/** Tables by RFC 4180: quoted cells may hold separators, line ends and doubled quotes. */

interface Line {
  cells: string[];
  /** Where it begins, from 1. */
  line: number;
}

interface Table {
  records: Line[];
  separator: string;
  problem: { line: number; message: string } | null;
}

/** Spreadsheets write commas, semicolons or tabs: what the first line has most of. */
function separatorOf(text: string): string {
  const first = text.slice(0, text.search(/[\r\n]|$/)).replace(/"(?:[^"]|"")*"/g, "");
  const count = (char: string) => first.split(char).length;
  return [",", "\t", ";"].reduce((best, char) => (count(char) > count(best) ? char : best));
}

class Reader {
  readonly records: Line[] = [];
  #cells: string[] = [];
  #line = 1;
  #begun = 1;
  #at = 0;

  constructor(
    private readonly text: string,
    private readonly separator: string,
  ) {}

  /** What is wrong, or null when all was read. */
  read(): Table["problem"] {
    while (this.#at < this.text.length) {
      const problem = this.text[this.#at] === '"' ? this.#quoted() : this.#bare();
      if (problem) return problem;
      this.#end();
    }
    if (this.#cells.length > 0) this.#record();
    return null;
  }

  #bare(): Table["problem"] {
    const start = this.#at;
    while (this.#at < this.text.length && !this.#isEnd(this.text[this.#at]!)) this.#at++;
    this.#cells.push(this.text.slice(start, this.#at));
    return null;
  }

  #quoted(): Table["problem"] {
    const opened = this.#line;
    let cell = "";
    for (this.#at++; ; this.#at++) {
      const char = this.text[this.#at];
      if (char === undefined) return { line: opened, message: `The quote that opens in line ${opened} is never closed` };
      if (char === '"') {
        if (this.text[this.#at + 1] !== '"') break;
        this.#at++;
      }
      if (char === "\n") this.#line++;
      cell += char;
    }
    this.#at++;
    const next = this.text[this.#at];
    if (next !== undefined && !this.#isEnd(next)) {
      return { line: this.#line, message: `Line ${this.#line} goes on after a closing quote: a quote inside a quoted cell is written twice` };
    }
    this.#cells.push(cell);
    return null;
  }

  #isEnd(char: string): boolean {
    return char === this.separator || char === "\n" || char === "\r";
  }

  #end(): void {
    const char = this.text[this.#at];
    if (char === this.separator) {
      this.#at++;
      if (this.#at === this.text.length) this.#cells.push("");
      return;
    }
    if (char === undefined) return;
    this.#at += char === "\r" && this.text[this.#at + 1] === "\n" ? 2 : 1;
    this.#record();
    this.#line++;
    this.#begun = this.#line;
  }

  /** An empty line is no row. */
  #record(): void {
    if (this.#cells.length > 1 || this.#cells[0]!.trim() !== "") this.records.push({ cells: this.#cells, line: this.#begun });
    this.#cells = [];
  }
}

export function csvRecords(text: string): Table {
  const separator = separatorOf(text);
  const reader = new Reader(text, separator);
  const problem = reader.read();
  return { records: reader.records, separator, problem };
}

const quoted = (cell: string): string => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

export function toCsv(columns: readonly string[], rows: readonly Record<string, string>[]): string {
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column] ?? ""))];
  return lines.map((cells) => `${cells.map(quoted).join(",")}\r\n`).join("");
}
