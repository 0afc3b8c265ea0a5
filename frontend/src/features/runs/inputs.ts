/** Inputs of a batch run out of pasted or uploaded text: JSONL, a JSON array, or a table (CSV, or tabs out of a spreadsheet). */

import { csvRecords } from "./csv";

export type Row = Record<string, string>;

export interface Problem {
  /** Line of the text, from 1; null where it is about the whole. */
  line: number | null;
  message: string;
}

export interface Inputs {
  format: "JSONL" | "JSON" | "CSV" | "table";
  rows: Row[];
  /** The line on which each row begins. */
  lines: number[];
  columns: string[];
  problems: Problem[];
}

export const MAX_ROWS = 10_000;

export function parseInputs(text: string): Inputs | null {
  const body = text.replace(/^\uFEFF/, "");
  if (body.trim() === "") return null;
  const inputs = withFormat(body);
  if (inputs.rows.length > MAX_ROWS) {
    inputs.problems.push({ line: null, message: `There are ${inputs.rows.length.toLocaleString("en-US")} rows; a run takes at most ${MAX_ROWS.toLocaleString("en-US")}. Split them into several runs.` });
  }
  return inputs;
}

function withFormat(body: string): Inputs {
  const first = body.trimStart()[0];
  if (first === "[") return parseArray(body);
  return first === "{" ? parseLines(body) : parseTable(body);
}

const empty = (format: Inputs["format"]): Inputs => ({ format, rows: [], lines: [], columns: [], problems: [] });

function add(inputs: Inputs, value: unknown, line: number, where: string): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    inputs.problems.push({ line, message: `${where} wants an object with a value for each variable, and has ${short(JSON.stringify(value))}` });
    return;
  }
  const row = Object.fromEntries(Object.entries(value).map(([name, cell]) => [name, asText(cell)]));
  inputs.rows.push(row);
  inputs.lines.push(line);
  for (const name of Object.keys(row)) if (!inputs.columns.includes(name)) inputs.columns.push(name);
}

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
const short = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text);

function parseLines(body: string): Inputs {
  const inputs = empty("JSONL");
  for (const [index, line] of body.split(/\r\n|\n|\r/).entries()) {
    if (line.trim() === "") continue;
    try {
      add(inputs, JSON.parse(line), index + 1, `Line ${index + 1}`);
    } catch {
      inputs.problems.push({ line: index + 1, message: `Line ${index + 1} is not JSON: ${short(line.trim())}` });
    }
  }
  return inputs;
}

function parseArray(body: string): Inputs {
  const inputs = empty("JSON");
  let values: unknown;
  try {
    values = JSON.parse(body);
  } catch (cause) {
    const line = lineOfError(body, cause as Error);
    inputs.problems.push({ line, message: `${line === null ? "This" : `Line ${line}`} is not JSON: ${(cause as Error).message}` });
    return inputs;
  }
  const places = linesOfItems(body);
  for (const [index, value] of (values as unknown[]).entries()) add(inputs, value, places[index] ?? 1, `Item ${index + 1}`);
  return inputs;
}

/** Engines tell a position, a line, or nothing. */
function lineOfError(body: string, { message }: Error): number | null {
  const line = /line (\d+)/.exec(message)?.[1];
  if (line) return Number(line);
  const position = /position (\d+)/.exec(message)?.[1];
  return position ? body.slice(0, Number(position)).split("\n").length : null;
}

const TOKENS = /"(?:[^"\\]|\\.)*"|[[\]{},\n]|[^\s[\]{},"]+/g;
const DEEPER: Record<string, number> = { "[": 1, "{": 1, "]": -1, "}": -1 };

/** The line on which each item of an array begins. */
function linesOfItems(body: string): number[] {
  const lines: number[] = [];
  let [line, depth, inItem] = [1, 0, false];
  for (const [token] of body.matchAll(TOKENS)) {
    if (token === "\n") line++;
    else if (depth === 1 && token === ",") inItem = false;
    else if (depth === 1 && !inItem && token !== "]") {
      lines.push(line);
      inItem = true;
    }
    depth += DEEPER[token] ?? 0;
  }
  return lines;
}

function parseTable(body: string): Inputs {
  const { records, separator, problem } = csvRecords(body);
  const inputs = empty(separator === "\t" ? "table" : "CSV");
  if (problem) inputs.problems.push(problem);
  const header = records[0];
  if (!header) return inputs;
  const names = header.cells.map((name) => name.trim());
  const bad = headerProblem(names);
  if (bad) inputs.problems.push({ line: header.line, message: bad });
  else if (records.length === 1) inputs.problems.push({ line: header.line, message: "The first line is read as the names of the columns, and there is no row under it" });
  inputs.columns = names;
  for (const { cells, line } of records.slice(1)) {
    if (cells.length !== names.length) {
      inputs.problems.push({ line, message: `Line ${line} has ${cells.length} ${cells.length === 1 ? "cell" : "cells"} where the first line has ${names.length}` });
      continue;
    }
    inputs.rows.push(Object.fromEntries(names.map((name, column) => [name, cells[column]!])));
    inputs.lines.push(line);
  }
  return inputs;
}

function headerProblem(names: string[]): string | null {
  const nameless = names.indexOf("");
  if (nameless >= 0) return `Column ${nameless + 1} has no name in the first line`;
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  return twice === undefined ? null : `The column “${twice}” is there twice`;
}
