// Drives Langfuse's JS SDK 5 as an application does; prints what it read, as JSON.
import { LangfuseClient } from "@langfuse/client";
import { LangfuseSpanProcessor } from "@langfuse/otel";
import { propagateAttributes, startActiveObservation, startObservation } from "@langfuse/tracing";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

const name = process.argv[2];
const processor = new LangfuseSpanProcessor({ environment: "staging", release: "v1.2.3" });
const provider = new NodeTracerProvider({ spanProcessors: [processor] });
provider.register();
const client = new LangfuseClient();
const said = {};

await client.prompt.create({
  name: `${name}/p js`,
  type: "text",
  prompt: "Hi {{x}}",
  labels: ["production"],
  config: { a: 1 },
});
await client.prompt.create({
  name: `${name}/chat`,
  type: "chat",
  prompt: [
    { role: "system", content: "You are {{who}}" },
    { type: "placeholder", name: "h" },
  ],
  labels: ["production"],
});
await client.prompt.update({ name: `${name}/p js`, version: 1, newLabels: ["b"] });
const text = await client.prompt.get(`${name}/p js`);
const chat = await client.prompt.get(`${name}/chat`, { type: "chat" });
const fallback = await client.prompt.get(`${name}/nope`, { fallback: "local", maxRetries: 0 });
said.prompts = {
  served: [text.version, text.compile({ x: "you" }), text.config, [...text.labels].sort()],
  chat: chat.compile({ who: "a clerk" }, { h: [{ role: "user", content: "hi" }] }),
  fallback: [fallback.isFallback, fallback.prompt],
};

await startActiveObservation(`${name}-root`, async (root) => {
  root.update({ input: { q: 1 }, output: "out" });
  await propagateAttributes(
    {
      traceName: `${name}-trace`,
      userId: `${name}-user`,
      sessionId: `${name}-session`,
      tags: ["a", "b"],
      metadata: { tier: "gold" },
    },
    async () => {
      const generation = startObservation(
        "gen",
        { model: "gpt-4o-mini", input: [{ role: "user", content: "x" }], prompt: text },
        { asType: "generation" },
      );
      generation.update({ output: "o", usageDetails: { input: 11, output: 3 } }).end();
      startObservation("look", { level: "ERROR", statusMessage: "bad" }, { asType: "tool" }).end();
      said.traceId = root.traceId;
      said.generationId = generation.id;
    },
  );
});
await processor.forceFlush();
client.score.create({ traceId: said.traceId, name: "helpful", value: 1, dataType: "BOOLEAN" });
client.score.create({
  traceId: said.traceId,
  observationId: said.generationId,
  name: "tone",
  value: "calm",
});
await client.flush();
said.url = await client.getTraceUrl(said.traceId);

const dataset = `${name} set`;
await client.api.datasets.create({ name: dataset });
for (const q of ["a", "b"]) {
  await client.api.datasetItems.create({
    datasetName: dataset,
    input: { q },
    expectedOutput: q.toUpperCase(),
  });
}
const found = await client.dataset.get(dataset);
const result = await found.runExperiment({
  name: `${name} experiment`,
  runName: `${name} run`,
  task: async (item) => item.input.q.toUpperCase(),
  evaluators: [
    async ({ output, expectedOutput }) => ({ name: "right", value: Number(output === expectedOutput) }),
  ],
});
await processor.forceFlush();
await client.flush();
said.experiment = {
  items: found.items.length,
  outputs: result.itemResults.map((item) => item.output).sort(),
  scores: result.itemResults.flatMap((item) => item.evaluations.map((e) => e.value)),
  traces: result.itemResults.map((item) => item.traceId),
};
await client.shutdown();
await provider.shutdown();
console.log(JSON.stringify(said));
