/** Names for the shapes of the REST interface. They are generated from the server's schema: `npm run schema`, `npm run types`. */

import type { components } from "./schema";

type Schemas = components["schemas"];

export type Role = Schemas["Role"];
export type User = Schemas["UserBody"];
export type Project = Schemas["ProjectBody"];

export interface Session {
  user: User;
  projects: Project[];
}

export interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

export type TraceRow = Schemas["TraceRowBody"];
export type Trace = Schemas["TraceBody"];
export type Observation = Schemas["ObservationBody"];
export type TraceDetail = Schemas["TraceDetailBody"];
export type Bucket = Schemas["BucketBody"];
export type FacetValue = Schemas["FacetValueBody"];
export type Facets = Schemas["FacetsBody"];
export type ObservationRow = Schemas["ObservationRowBody"];
export type ObservationFacets = Schemas["ObservationFacetsBody"];
export type Group = Schemas["GroupBody"];
export type SessionDetail = Schemas["SessionBody"];
export type SessionTurn = Schemas["TurnBody"];
export type SavedView = Schemas["ViewBody"];

/** A message whose content is plain text, as the editors write it. */
export interface Message {
  role: string;
  content: string;
}

export type StoredVersion = Schemas["VersionBody"];
/** A version as the editors know it: content given as parts has become its text. */
export type PromptVersion = Omit<StoredVersion, "prompt"> & { prompt: string | Message[] };
export type Prompt = Schemas["PromptRow"];
export type Rendering = Schemas["Rendering"];
export type PromptFigures = Schemas["FiguresBody"];
export type PromptMean = Schemas["MeanBody"];
export type PromptMeasures = Schemas["MeasuresBody"];
export type PromptComparison = Schemas["ComparisonBody"];
export type PromptCompared = Schemas["ComparedBody"];
export type PromptCall = Schemas["CallBody"];
export type PromptTrend = Schemas["TrendBody"];
export type PromptTrends = Schemas["TrendsBody"];
export type PromptArm = Schemas["ArmBody"];
export type LabelUse = Schemas["LabelUseBody"];
export type Draft = Schemas["DraftEntered"];
export type Moment = Schemas["Moment"];
export type DraftHistory = Schemas["DraftHistory"];
export type DraftRow = Schemas["DraftRow"];
export type DraftContent = Schemas["DraftContent"];
export type DraftComment = Schemas["DraftCommentBody"];
export type Merge = Schemas["MergeBody"];
export type MergeChoice = Schemas["MergeChoiceRequest"];
export type Proposal = Schemas["ProposalBody"];
export type ProposalStand = Schemas["ProposalStand"];
export type PromptGraph = Schemas["PromptGraph"];

export type Model = Schemas["Model"];
export type Engine = Schemas["Engine"];
export type ApiKey = Schemas["KeyBody"] & Partial<Pick<Schemas["KeyCreated"], "secret_key">>;
export type Member = Schemas["MemberBody"];
export type Connection = Schemas["Connection"];
export type ConnectionCheck = Schemas["ConnectionTested"];

export type RunState = Schemas["JobState"];
export type Run = Schemas["Run"];
export type RunItem = Schemas["RunItem"];

export type Score = Schemas["ScoreBody"];
export type ScoreCreate = Schemas["ScoreCreateRequest"];
export type ScoreMean = Schemas["ScoreMeanBody"];
export type ScoreConfig = Schemas["ScoreConfigBody"];
export type ScoreConfigCreate = Schemas["ScoreConfigCreateRequest"];
export type Comment = Schemas["CommentBody"];
export type Media = Schemas["MediaBody"];

export type Dataset = Schemas["DatasetBody"];
export type DatasetItem = Schemas["DatasetItemBody"];
export type DatasetRun = Schemas["DatasetRunBody"];
export type ComparedItem = Schemas["ComparedItemBody"];
export type Execution = Schemas["ExecutionBody"];

export type Experiment = Schemas["ExperimentBody"];
export type ExperimentItem = Schemas["ExperimentItemBody"];
