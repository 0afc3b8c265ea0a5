/**
 * Whether a value fits a JSON Schema, for what models are asked to answer by: types, properties,
 * items, enums, bounds, patterns, combinations and local references. Keywords beyond these
 * (draft 2020-12 has more) are let pass, never taken for a failure.
 */

type Schema = Record<string, unknown>;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

const MOST = 20;
const DEEPEST = 100;

/** What does not fit, each with its place ("$.items[2].name: …"); empty where all fits. */
export function problemsOf(schema: unknown, value: unknown): string[] {
  const problems: string[] = [];
  check({ root: schema, problems, depth: 0 }, schema, value, "$");
  return problems.slice(0, MOST);
}

interface Walk {
  root: unknown;
  problems: string[];
  depth: number;
}

function check(walk: Walk, schema: unknown, value: unknown, at: string): void {
  if (schema === false) walk.problems.push(`${at}: nothing is allowed here`);
  if (!isObject(schema) || walk.depth > DEEPEST) return;
  const next = { ...walk, depth: walk.depth + 1 };
  if (typeof schema.$ref === "string") check(next, referred(walk.root, schema.$ref), value, at);
  checkKind(walk, schema, value, at);
  checkCombined(next, schema, value, at);
  if (typeof value === "string") checkText(walk, schema, value, at);
  if (typeof value === "number") checkNumber(walk, schema, value, at);
  if (Array.isArray(value)) checkList(next, schema, value, at);
  if (isObject(value)) checkObject(next, schema, value, at);
}

function referred(root: unknown, ref: string): unknown {
  if (!ref.startsWith("#")) return true;
  const steps = ref.slice(1).split("/").filter(Boolean).map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
  return steps.reduce<unknown>((found, step) => (isObject(found) ? found[step] : undefined), root) ?? true;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value;
}

const isKind = (value: unknown, kind: unknown): boolean => kindOf(value) === kind || (kind === "integer" && Number.isInteger(value));
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

function checkKind({ problems }: Walk, schema: Schema, value: unknown, at: string): void {
  const kinds = Array.isArray(schema.type) ? schema.type : schema.type === undefined ? [] : [schema.type];
  if (kinds.length > 0 && !kinds.some((kind) => isKind(value, kind))) problems.push(`${at}: is ${kindOf(value)}, not ${kinds.join(" or ")}`);
  if (Array.isArray(schema.enum) && !schema.enum.some((one) => same(one, value))) problems.push(`${at}: is none of ${schema.enum.map((one) => JSON.stringify(one)).join(", ")}`);
  if ("const" in schema && !same(schema.const, value)) problems.push(`${at}: is not ${JSON.stringify(schema.const)}`);
}

function checkCombined(walk: Walk, schema: Schema, value: unknown, at: string): void {
  const fits = (one: unknown) => {
    const problems: string[] = [];
    check({ ...walk, problems }, one, value, at);
    return problems.length === 0;
  };
  if (Array.isArray(schema.allOf)) for (const one of schema.allOf) check(walk, one, value, at);
  if (Array.isArray(schema.anyOf) && !schema.anyOf.some(fits)) walk.problems.push(`${at}: fits none of the choices`);
  if (Array.isArray(schema.oneOf) && schema.oneOf.filter(fits).length !== 1) walk.problems.push(`${at}: does not fit exactly one of the choices`);
  if (schema.not !== undefined && fits(schema.not)) walk.problems.push(`${at}: is what it must not be`);
}

const limit = (schema: Schema, name: string): number | null => (typeof schema[name] === "number" ? schema[name] : null);

function checkText({ problems }: Walk, schema: Schema, value: string, at: string): void {
  const length = [...value].length;
  if (length < (limit(schema, "minLength") ?? 0)) problems.push(`${at}: is shorter than ${limit(schema, "minLength")}`);
  if (length > (limit(schema, "maxLength") ?? Infinity)) problems.push(`${at}: is longer than ${limit(schema, "maxLength")}`);
  if (typeof schema.pattern === "string" && !matches(schema.pattern, value)) problems.push(`${at}: does not match ${schema.pattern}`);
}

function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true; // not a pattern that this browser reads
  }
}

function checkNumber({ problems }: Walk, schema: Schema, value: number, at: string): void {
  if (value < (limit(schema, "minimum") ?? -Infinity)) problems.push(`${at}: is below ${limit(schema, "minimum")}`);
  if (value > (limit(schema, "maximum") ?? Infinity)) problems.push(`${at}: is above ${limit(schema, "maximum")}`);
  if (value <= (limit(schema, "exclusiveMinimum") ?? -Infinity)) problems.push(`${at}: is not above ${limit(schema, "exclusiveMinimum")}`);
  if (value >= (limit(schema, "exclusiveMaximum") ?? Infinity)) problems.push(`${at}: is not below ${limit(schema, "exclusiveMaximum")}`);
}

function checkList(walk: Walk, schema: Schema, value: unknown[], at: string): void {
  if (value.length < (limit(schema, "minItems") ?? 0)) walk.problems.push(`${at}: has fewer than ${limit(schema, "minItems")} items`);
  if (value.length > (limit(schema, "maxItems") ?? Infinity)) walk.problems.push(`${at}: has more than ${limit(schema, "maxItems")} items`);
  const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  for (const [index, item] of value.entries()) check(walk, index < first.length ? first[index] : schema.items, item, `${at}[${index}]`);
}

function checkObject(walk: Walk, schema: Schema, value: Record<string, unknown>, at: string): void {
  const properties = isObject(schema.properties) ? schema.properties : {};
  for (const name of Array.isArray(schema.required) ? schema.required : []) {
    if (!Object.hasOwn(value, String(name))) walk.problems.push(`${at}: ${String(name)} is missing`);
  }
  for (const [name, one] of Object.entries(value)) {
    if (Object.hasOwn(properties, name)) check(walk, properties[name], one, `${at}.${name}`);
    else if (schema.additionalProperties === false) walk.problems.push(`${at}: ${name} is not known`);
    else check(walk, schema.additionalProperties, one, `${at}.${name}`);
  }
}
