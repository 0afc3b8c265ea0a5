"""Which attribute says what, first match wins. `docs` renders this table; keep it declarative."""

from typing import Final

Keys = tuple[str, ...]
MLFLOW_MODEL: Final = "mlflow.llm.model"

MODEL: Final[Keys] = (
    "langfuse.observation.model.name",
    "gen_ai.response.model",
    "ai.response.model",
    "ai.model.id",
    "gen_ai.request.model",
    "llm.response.model_name",
    "llm.response.model",
    "llm.model_name",
    "llm.request.model_name",
    "embedding.model_name",
    "reranker.model_name",
    MLFLOW_MODEL,
    "model",
)
SESSION: Final[Keys] = (
    "langfuse.session.id",
    "session.id",
    "gen_ai.conversation.id",
    "traceloop.association.properties.session_id",
    "langfuse.observation.metadata.langfuse_session_id",
    "langfuse.trace.metadata.langfuse_session_id",
    "ai.telemetry.metadata.sessionId",
)
USER: Final[Keys] = (
    "langfuse.user.id",
    "user.id",
    "enduser.id",
    "traceloop.association.properties.user_id",
    "langfuse.observation.metadata.langfuse_user_id",
    "langfuse.trace.metadata.langfuse_user_id",
    "ai.telemetry.metadata.userId",
    "gen_ai.user",
    "llm.user",
)
TAGS: Final[Keys] = (
    "langfuse.trace.tags",
    "langfuse.tags",
    "langfuse.observation.metadata.langfuse_tags",
    "langfuse.trace.metadata.langfuse_tags",
    "ai.telemetry.metadata.tags",
    "tag.tags",
    "logfire.tags",
)
NAME: Final[Keys] = ("gen_ai.tool.name", "genkit:name", "logfire.msg", "ai.toolCall.name")
# Vercel's AI SDK: what the caller named, and which of its calls this is; a name of both together.
FUNCTION: Final = "ai.telemetry.functionId"
FUNCTION_CALL: Final = "ai.operationId"
TRACE_NAME: Final[Keys] = ("langfuse.trace.name", "traceloop.workflow.name")
ENVIRONMENT: Final[Keys] = (
    "langfuse.environment",
    "deployment.environment.name",
    "deployment.environment",
)
PROMPT_NAME: Final[Keys] = (
    "langfuse.observation.prompt.name",
    "langfuse.prompt.name",
    "gen_ai.prompt.name",
    "traceloop.prompt.key",
)
PROMPT_LINK: Final = "ai.telemetry.metadata.langfusePrompt"  # JSON of name and version
PROMPT_VERSION: Final[Keys] = (
    "langfuse.observation.prompt.version",
    "langfuse.prompt.version",
    "gen_ai.prompt.version",
    "traceloop.prompt.version",
)
PARAMETERS: Final[Keys] = (
    "langfuse.observation.model.parameters",
    "llm.invocation_parameters",
    "model_config",
)
PARAMETER_PREFIX: Final = "gen_ai.request."

# Payloads that one attribute holds. Conversations rebuilt from indexed attributes
# (INPUT_GROUPS, OUTPUT_GROUPS) come between the first and the rest: they say more.
INPUT_FIRST: Final[Keys] = ("langfuse.observation.input", "gen_ai.input.messages")
INPUT: Final[Keys] = (
    "ai.prompt.messages",
    "ai.prompt",
    "ai.toolCall.args",
    "gcp.vertex.agent.llm_request",
    "gcp.vertex.agent.tool_call_args",
    "all_messages_events",
    "pydantic_ai.all_messages",
    "genkit:input",
    "mlflow.spanInputs",
    "traceloop.entity.input",
    "input.value",
    "gen_ai.tool.call.arguments",
    "tool.parameters",
    "tool_arguments",
    "gen_ai.retrieval.query.text",
    "gen_ai.prompt",
    "gen_ai.content.prompt",
    "langfuse.trace.input",
    "ai.values",
    "ai.value",
    "input",
    "request_data",
)
OUTPUT_FIRST: Final[Keys] = ("langfuse.observation.output", "gen_ai.output.messages")
OUTPUT: Final[Keys] = (
    "ai.response.text",
    "ai.result.text",
    "ai.toolCall.result",
    "ai.response.object",
    "ai.response.toolCalls",
    "gcp.vertex.agent.llm_response",
    "gcp.vertex.agent.tool_response",
    "final_result",
    "genkit:output",
    "mlflow.spanOutputs",
    "traceloop.entity.output",
    "output.value",
    "gen_ai.tool.call.result",
    "tool_response",
    "gen_ai.retrieval.documents",
    "gen_ai.completion",
    "gen_ai.content.completion",
    "langfuse.trace.output",
    "output",
    "response_data",
)
INPUT_GROUPS: Final[Keys] = ("llm.input_messages.", "gen_ai.prompt.")
OUTPUT_GROUPS: Final[Keys] = (
    "llm.output_messages.",
    "gen_ai.completion.",
    "retrieval.documents.",
    "reranker.output_documents.",
)
# Messages in the form of events, as JSON in one attribute; where nothing else says what was asked.
LISTED_EVENTS: Final = "events"
INDEXED: Final[Keys] = INPUT_GROUPS + OUTPUT_GROUPS

METADATA: Final[Keys] = ("langfuse.observation.metadata", "langfuse.trace.metadata", "metadata")
METADATA_GROUPS: Final[Keys] = (
    "langfuse.observation.metadata.",
    "langfuse.trace.metadata.",
    "traceloop.association.properties.",
    "ai.telemetry.metadata.",
)
GROUPS: Final[Keys] = INDEXED + METADATA_GROUPS

FIRST_TOKEN_SECONDS: Final[Keys] = (
    "gen_ai.response.time_to_first_chunk",
    "gen_ai.server.time_to_first_token",
)
FIRST_TOKEN_MS: Final[Keys] = ("ai.response.msToFirstChunk", "ai.stream.msToFirstChunk")
FIRST_TOKEN_EVENTS: Final = frozenset({"First Token Stream Event", "llm.content.completion.chunk"})

TYPES: Final[Keys] = (
    "langfuse.observation.type",
    "openinference.span.kind",
    "gen_ai.operation.name",
    "ai.operationId",
    "operation.name",
    "mlflow.spanType",
    "traceloop.span.kind",
    "logfire.span_type",
)
TOOL_MARKS: Final[Keys] = (
    "gen_ai.tool.name",
    "gen_ai.tool.call.id",
    "ai.toolCall.id",
    "tool.name",
)
# What pydantic-ai and smolagents (in OpenInference) put on the span of an agent's run, which sums
# up its children's tokens. Its kind alone does not tell: the runs of others have no children.
AGENT_MARKS: Final[Keys] = (
    "pydantic_ai.all_messages",
    "all_messages_events",
    "smolagents.max_steps",
)
TYPE_OF_OPENINFERENCE: Final = {
    "LLM": "generation",
    "CHAIN": "chain",
    "TOOL": "tool",
    "RETRIEVER": "retriever",
    "RERANKER": "retriever",
    "EMBEDDING": "embedding",
    "AGENT": "agent",
    "GUARDRAIL": "guardrail",
    "EVALUATOR": "evaluator",
}
TYPE_OF_OPERATION: Final = {
    "chat": "generation",
    "responses": "generation",
    "aresponses": "generation",
    "completion": "generation",
    "acompletion": "generation",
    "atext_completion": "generation",
    "text_completion": "generation",
    "generate_content": "generation",
    "generate": "generation",
    "embeddings": "embedding",
    "embedding": "embedding",
    "aembedding": "embedding",
    "rerank": "retriever",
    "arerank": "retriever",
    "retrieval": "retriever",
    "invoke_agent": "agent",
    "create_agent": "agent",
    "agent_step": "agent",
    "invoke_workflow": "chain",
    "execute_tool": "tool",
}
TYPE_OF_TRACELOOP: Final = {
    "workflow": "chain",
    "task": "span",
    "agent": "agent",
    "tool": "tool",
}
TYPE_OF_MLFLOW: Final = {
    "LLM": "generation",
    "CHAT_MODEL": "generation",
    "CHAIN": "chain",
    "TOOL": "tool",
    "RETRIEVER": "retriever",
    "EMBEDDING": "embedding",
    "AGENT": "agent",
}
VERCEL_GENERATIONS: Final = (
    "ai.generateText.doGenerate",
    "ai.streamText.doStream",
    "ai.generateObject.doGenerate",
    "ai.streamObject.doStream",
)
VERCEL_EMBEDDINGS: Final = ("ai.embed.doEmbed", "ai.embedMany.doEmbed")
VERCEL_WHOLES: Final = (
    "ai.generateText",
    "ai.streamText",
    "ai.generateObject",
    "ai.streamObject",
    "ai.embed",
    "ai.embedMany",
)
OPERATIONS: Final[Keys] = ("gen_ai.operation.name", "ai.operationId")
# These repeat what their children used; counting them again would double every figure.
AGGREGATES: Final = frozenset({"invoke_agent", "agent_step", "invoke_workflow", *VERCEL_WHOLES})

LEVEL_NUMBER: Final = "logfire.level_num"  # OpenTelemetry's severity: 9 is info, 17 an error
LEVELS: Final = {
    "TRACE": "DEBUG",
    "DEBUG": "DEBUG",
    "VERBOSE": "DEBUG",
    "INFO": "DEFAULT",
    "LOG": "DEFAULT",
    "NOTICE": "DEFAULT",
    "OK": "DEFAULT",
    "SUCCESS": "DEFAULT",
    "DEFAULT": "DEFAULT",
    "WARN": "WARNING",
    "WARNING": "WARNING",
    "ERROR": "ERROR",
    "FATAL": "ERROR",
    "CRITICAL": "ERROR",
}

# usage part -> attributes that carry it
TOKENS: Final[dict[str, Keys]] = {
    "input": (
        "gen_ai.usage.input_tokens",
        "llm.token_count.prompt",
        "gen_ai.usage.prompt_tokens",
        "llm.usage.prompt_tokens",
        "ai.usage.inputTokens",
        "ai.usage.promptTokens",
        "ai.usage.tokens",
    ),
    "output": (
        "gen_ai.usage.output_tokens",
        "llm.token_count.completion",
        "gen_ai.usage.completion_tokens",
        "llm.usage.completion_tokens",
        "ai.usage.outputTokens",
        "ai.usage.completionTokens",
    ),
    "total": (
        "gen_ai.usage.total_tokens",
        "llm.token_count.total",
        "llm.usage.total_tokens",
        "ai.usage.totalTokens",
    ),
    "input_cached_tokens": (
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "llm.token_count.prompt_details.cache_read",
        "llm.token_count.prompt_details.cache_input",
        "ai.usage.cachedInputTokens",
        "ai.usage.inputTokenDetails.cacheReadTokens",
        "gen_ai.usage.details.cache_read_tokens",
        "gen_ai.usage.details.cached_tokens",
    ),
    "input_cache_creation": (
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "llm.token_count.prompt_details.cache_write",
        "ai.usage.inputTokenDetails.cacheWriteTokens",
        "gen_ai.usage.details.cache_write_tokens",
    ),
    "input_audio_tokens": (
        "gen_ai.usage.audio.input_tokens",
        "llm.token_count.prompt_details.audio",
    ),
    "output_reasoning_tokens": (
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "llm.token_count.completion_details.reasoning",
        "ai.usage.reasoningTokens",
        "ai.usage.outputTokenDetails.reasoningTokens",
        "gen_ai.usage.details.reasoning_tokens",
    ),
    "output_audio_tokens": (
        "gen_ai.usage.audio.output_tokens",
        "llm.token_count.completion_details.audio",
    ),
}
COSTS: Final[dict[str, Keys]] = {
    "input": ("llm.cost.prompt", "gen_ai.usage.input_cost", "gen_ai.cost.input_cost"),
    "output": ("llm.cost.completion", "gen_ai.usage.output_cost", "gen_ai.cost.output_cost"),
    "total": ("llm.cost.total", "gen_ai.usage.cost", "gen_ai.cost.total_cost", "operation.cost"),
}
