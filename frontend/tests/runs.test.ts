import { describe, expect, it } from "vitest";

import { fitOf, shownProblems } from "@/features/runs/check";
import { csvRecords, toCsv } from "@/features/runs/csv";
import { MAX_ROWS, parseInputs } from "@/features/runs/inputs";
import { factsOf, isNewer, tookMs, variablesLine } from "@/features/runs/progress";
import { asCsv, asJsonl, fileName } from "@/features/runs/results";
import type { Run, RunItem } from "@/lib/api/types";

const messages = (text: string) => parseInputs(text)!.problems.map((problem) => problem.message);

describe("inputs as lines of JSON", () => {
  it("keep their lines, skip empty ones, and make texts of other values", () => {
    const inputs = parseInputs('\uFEFF{"q": "a"}\n\n{"q": 3, "deep": {"x": [true]}}\r\n')!;
    expect(inputs).toMatchObject({ format: "JSONL", columns: ["q", "deep"], lines: [1, 3], problems: [] });
    expect(inputs.rows).toEqual([{ q: "a" }, { q: "3", deep: '{"x":[true]}' }]);
  });
  it("name the line that is wrong, and read the others", () => {
    const inputs = parseInputs('{"q": "a"}\n{"q": \n[1]\n{"q": "b"}')!;
    expect(inputs.problems.map((p) => p.line)).toEqual([2, 3]);
    expect(inputs.problems[0]!.message).toBe('Line 2 is not JSON: {"q":');
    expect(inputs.rows).toHaveLength(2);
  });
  it("are not there without text", () => expect(parseInputs(" \n\t")).toBeNull());
  it("may be as many as a run takes", () => {
    const many = Array.from({ length: MAX_ROWS + 1 }, () => '{"q":"x"}').join("\n");
    expect(messages(many)).toEqual(["There are 10,001 rows; a run takes at most 10,000. Split them into several runs."]);
  });
});

describe("inputs as a JSON list", () => {
  it("know the line on which each item begins", () => {
    const inputs = parseInputs('[\n  {"q": "a, ]",\n   "r": ["x", {"y": 1}]},\n\n  {"q": "\\"b"}\n]')!;
    expect(inputs).toMatchObject({ format: "JSON", lines: [2, 5], problems: [] });
    expect(inputs.rows[1]).toEqual({ q: '"b' });
  });
  it("name the item that is no object", () => expect(messages('[{"q": "a"}, "b"]')).toEqual(['Item 2 wants an object with a value for each variable, and has "b"']));
  it("tell of broken JSON", () => expect(messages('[{"q": "a"}')[0]).toMatch(/is not JSON/));
});

describe("inputs as a table", () => {
  it("read quotes, separators and line ends inside cells", () => {
    const inputs = parseInputs('question, customer\n"Hello, ""you""\nthere",Ann\n\nplain,')!;
    expect(inputs).toMatchObject({ format: "CSV", columns: ["question", "customer"], lines: [2, 5], problems: [] });
    expect(inputs.rows).toEqual([{ question: 'Hello, "you"\nthere', customer: "Ann" }, { question: "plain", customer: "" }]);
  });
  it("take tabs out of a spreadsheet and semicolons", () => {
    expect(parseInputs("a\tb\n1,5\t2")).toMatchObject({ format: "table", rows: [{ a: "1,5", b: "2" }] });
    expect(parseInputs("a;b\r\n1,5;2")).toMatchObject({ rows: [{ a: "1,5", b: "2" }] });
  });
  it("name the line with too many or too few cells", () => expect(messages("a,b\n1,2\n3\n4,5,6")).toEqual(["Line 3 has 1 cell where the first line has 2", "Line 4 has 3 cells where the first line has 2"]));
  it("name the line whose quote stays open", () => expect(messages('a,b\n1,2\n"3,4\n5,6')).toContain("The quote that opens in line 3 is never closed"));
  it("name the line with a stray quote", () => expect(messages('a\n"x"y')[0]).toMatch(/^Line 2 goes on after a closing quote/));
  it.each([
    ["a,,b\n1,2,3", "Column 2 has no name in the first line"],
    ["a,a\n1,2", "The column “a” is there twice"],
    ["a,b", "The first line is read as the names of the columns, and there is no row under it"],
  ])("check the first line of %j", (text, message) => expect(messages(text)).toEqual([message]));
  it("read one column without a separator", () => expect(csvRecords("q\nx y\n")).toMatchObject({ problem: null, records: [{ cells: ["q"] }, { cells: ["x y"], line: 2 }] }));
});

describe("how inputs fit a prompt", () => {
  it("say which column is missing and what was likely meant", () => {
    const { problems, unused } = fitOf(parseInputs("Question,other\nx,y")!, ["question", "topic"]);
    expect(problems.map((p) => p.message)).toEqual(["No column is named “question”, which the prompt wants; did you mean “Question”?", "No column is named “topic”, which the prompt wants"]);
    expect(unused).toEqual(["Question", "other"]);
  });
  it("say which line lacks a value", () => {
    const { problems } = fitOf(parseInputs('{"q": "a"}\n{"other": "b"}')!, ["q"]);
    expect(problems).toEqual([{ line: 2, message: "Line 2 has no “q”" }]);
  });
  it("find nothing wrong with what fits", () => expect(fitOf(parseInputs('{"q": "a"}')!, ["q"])).toEqual({ problems: [], unused: [] }));
  it("show a few problems and count the rest", () => {
    const shown = shownProblems(Array.from({ length: 7 }, (_, i) => ({ line: i, message: `Line ${i} is bad` })));
    expect([shown.length, shown.at(-1)]).toEqual([6, "And 2 more problems."]);
  });
});

const run = (more: Partial<Run>): Run => ({
  id: "7",
  name: "Nightly",
  state: "running",
  prompt: { name: "a/b", version: 2 },
  model: "m",
  parameters: {},
  author: "Alice",
  total: 200,
  done: 97,
  failed: 3,
  rate: 4.5678,
  eta_s: 75.4,
  created_at: "2026-11-30T10:00:00Z",
  started_at: "2026-11-30T10:00:01Z",
  finished_at: null,
  ...more,
});

describe("the progress of a run", () => {
  const values = (of: Run) => factsOf(of, Date.parse("2026-11-30T10:01:01Z")).map((fact) => `${fact.name}: ${fact.value}`);
  it("says how many, how fast and how long", () => expect(values(run({}))).toEqual(["Done: 50 %", "Inputs: 100 of 200", "Failed: 3", "Rate: 4.57 inputs/s", "Time left: 1 min 15 s"]));
  it("knows nothing before the first answer, and says so", () => expect(values(run({ done: 0, failed: 0, rate: null, eta_s: null }))).toEqual(["Done: 0 %", "Inputs: 0 of 200", "Failed: 0", "Rate: —", "Time left: —"]));
  it("says how long it took in the end", () => expect(values(run({ state: "done", finished_at: "2026-11-30T10:00:31Z", eta_s: null })).at(-1)).toBe("Took: 30.0 s"));
  it("counts from the first input", () => expect(tookMs({ started_at: null, finished_at: null }, 0)).toBeNull());
  it("takes no older news for newer", () => {
    expect(isNewer(run({ done: 90 }), run({ done: 97 }))).toBe(false);
    expect(isNewer(run({ state: "done", done: 197 }), run({}))).toBe(true);
    expect(isNewer(run({ done: 199 }), run({ state: "canceled" }))).toBe(false);
  });
});

const item = (more: Partial<RunItem>): RunItem => ({ index: 0, state: "done", variables: { q: "a" }, output: "x", error: null, trace_id: "t", attempt: 1, ...more });

describe("results as files", () => {
  it("are one JSON object a line", () => expect(asJsonl([item({}), item({ index: 1, output: "two\nlines" })]).trim().split("\n").map((line) => (JSON.parse(line) as RunItem).index)).toEqual([0, 1]));
  it("are a table that comes back as it was", () => {
    const csv = asCsv([item({ variables: { q: 'say "hi"', output: "mine" }, output: "a,\nb" }), item({ index: 1, state: "failed", output: null, error: "no", trace_id: null })]);
    expect(parseInputs(csv)!.rows).toEqual([
      { index: "0", state: "done", q: 'say "hi"', "variable.output": "mine", output: "a,\nb", error: "", trace_id: "t", attempt: "1" },
      { index: "1", state: "failed", q: "a", "variable.output": "", output: "", error: "no", trace_id: "", attempt: "1" },
    ]);
  });
  it("end each line as spreadsheets want it", () => expect(toCsv(["a"], [{ a: "1" }])).toBe("a\r\n1\r\n"));
  it("have names that every file system takes", () => expect([fileName("support/answer · 2026-11-30 16:02", "csv"), fileName("///", "jsonl")]).toEqual(["support-answer-2026-11-30-16-02.csv", "run.jsonl"]));
});

describe("variables in one line", () => {
  it("leave out the name of the only one", () => expect(variablesLine({ q: "a\n  b" })).toEqual([{ name: null, value: "a b" }]));
  it("name each of several", () => expect(variablesLine({ q: "a", r: "b" }).map((part) => part.name)).toEqual(["q", "r"]));
});
