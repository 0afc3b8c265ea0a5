// Drives Langfuse's old JS SDK, which sends batches of events; prints what it read, as JSON.
import { Langfuse, LangfuseWeb } from "langfuse";

const name = process.argv[2];
const client = new Langfuse({ environment: "staging", release: "v1", requestTimeout: 30000 });
const said = {};

await client.createPrompt({ name: `${name}/p`, prompt: "Hi {{x}}", labels: ["production"] });
const prompt = await client.getPrompt(`${name}/p`);
const fallback = await client.getPrompt(`${name}/nope`, undefined, {
  fallback: "local",
  maxRetries: 0,
});
said.prompts = {
  served: [prompt.version, prompt.compile({ x: "you" })],
  fallback: [fallback.isFallback, fallback.prompt],
};

const trace = client.trace({
  name: `${name}-trace`,
  userId: `${name}-user`,
  sessionId: `${name}-session`,
  tags: ["a", "b"],
  input: "in",
});
const span = trace.span({ name: "sp" });
const generation = span.generation({
  name: "g",
  model: "gpt-4o-mini",
  input: [{ role: "user", content: "x" }],
  prompt,
});
generation.end({ output: "o", usage: { input: 11, output: 3 } });
span.event({ name: "e" });
span.end();
trace.update({ output: "out" });
trace.score({ name: "helpful", value: 1, dataType: "BOOLEAN" });
generation.score({ name: "tone", value: "calm" });
await client.flushAsync();

const read = await client.fetchTrace(trace.id);
const traces = await client.fetchTraces({ userId: `${name}-user` });
said.tracing = { traceId: trace.id, generationId: generation.id, spanId: span.id };
said.reads = {
  trace: [read.data.id, read.data.name, read.data.input, read.data.output, read.data.tags],
  parents: Object.fromEntries(read.data.observations.map((o) => [o.name, o.parentObservationId])),
  scores: read.data.scores.map((s) => [s.name, s.stringValue ?? s.value]).sort(),
  traces: traces.data.map((t) => t.name),
};

// As a page does it: it knows the public key alone.
const page = new LangfuseWeb({
  publicKey: process.env.LANGFUSE_PUBLIC_KEY,
  baseUrl: process.env.LANGFUSE_BASEURL,
});
await page.score({ traceId: trace.id, name: "thumb", value: 1, comment: "from a page" });
const judged = await client.fetchTrace(trace.id);
said.page = judged.data.scores.filter((s) => s.name === "thumb").map((s) => [s.value, s.comment]);

const dataset = `${name} set`;
await client.createDataset(dataset);
await client.createDatasetItem({ datasetName: dataset, input: { q: 1 }, expectedOutput: 2 });
const found = await client.getDataset(dataset);
for (const item of found.items) {
  await item.link(trace, `${name} run`);
}
said.dataset = { items: found.items.map((item) => [item.input, item.expectedOutput]) };
await client.shutdownAsync();
console.log(JSON.stringify(said));
