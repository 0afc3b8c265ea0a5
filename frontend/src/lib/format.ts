/** Numbers as people read them: units always, 3 significant digits, "—" for unknown (never 0). */

export const UNKNOWN = "—";

type Maybe<T> = T | null | undefined;

const known = (value: Maybe<number>): value is number => value !== null && value !== undefined && Number.isFinite(value);

/** 3 significant digits, without an exponent and without losing integer digits. */
function significant(value: number): string {
  const magnitude = Math.abs(value);
  if (magnitude >= 100) return formatCount(value);
  return String(Number(value.toPrecision(3)));
}

export function formatDuration(ms: Maybe<number>): string {
  if (!known(ms)) return UNKNOWN;
  if (ms > 0 && ms < 1) return `${significant(ms * 1000)} µs`;
  if (ms < 999.5) return `${significant(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 59.95) return `${seconds.toPrecision(3)} s`;
  return formatClock(Math.round(seconds));
}

/** 75 -> "1 min 15 s", 3700 -> "1 h 1 min". */
export function formatClock(seconds: number): string {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  if (hours > 0) return `${hours} h ${minutes} min`;
  if (minutes > 0) return `${minutes} min ${seconds % 60} s`;
  return `${seconds} s`;
}

export function formatCount(value: Maybe<number>): string {
  return known(value) ? value.toLocaleString("en-US", { maximumFractionDigits: 0 }) : UNKNOWN;
}

/** 1234 -> "1.23k": where room is short; the exact count belongs in the title. */
export function formatCompact(value: Maybe<number>): string {
  if (!known(value)) return UNKNOWN;
  if (Math.abs(value) < 10_000) return formatCount(value);
  return value.toLocaleString("en-US", { notation: "compact", minimumSignificantDigits: 3, maximumSignificantDigits: 3 }).replace("K", "k");
}

export function formatRate(value: Maybe<number>, unit = "tok/s"): string {
  return known(value) ? `${significant(value)} ${unit}` : UNKNOWN;
}

/** A cost under a cent is shown exactly; the server sends decimals as strings to keep them exact. */
export function formatCost(cost: Maybe<string | number>): string {
  if (cost === null || cost === undefined || cost === "") return UNKNOWN;
  const value = Number(cost);
  if (!Number.isFinite(value)) return UNKNOWN;
  if (value === 0) return "$0";
  if (Math.abs(value) < 0.01) return `$${exactDecimal(cost)}`;
  return value.toLocaleString("en-US", { style: "currency", currency: "USD", minimumFractionDigits: value < 1 ? 3 : 2 });
}

function exactDecimal(cost: string | number): string {
  const plain = /e/i.test(String(cost)) ? Number(cost).toFixed(20) : String(cost);
  return plain.includes(".") ? plain.replace(/0+$/, "").replace(/\.$/, "") : plain;
}

export function formatBytes(bytes: Maybe<number>): string {
  if (!known(bytes)) return UNKNOWN;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${significant(bytes / 1024 ** power)} ${units[power]}`;
}

export function formatPercent(share: Maybe<number>): string {
  return known(share) ? `${significant(share * 100)} %` : UNKNOWN;
}

const two = (n: number) => String(n).padStart(2, "0");
const clock = (d: Date) => `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** Today "14:03:22", this year "Nov 12 14:03", before "Nov 12 2024". */
export function formatTime(iso: string, now: Date = new Date()): string {
  const at = new Date(iso);
  if (at.toDateString() === now.toDateString()) return clock(at);
  const day = `${MONTHS[at.getMonth()]} ${at.getDate()}`;
  if (at.getFullYear() !== now.getFullYear()) return `${day} ${at.getFullYear()}`;
  return `${day} ${clock(at).slice(0, 5)}`;
}

/** The exact moment with its zone, for a title. */
export function formatMoment(iso: string): string {
  const at = new Date(iso);
  const ms = String(at.getMilliseconds()).padStart(3, "0");
  const zone = -at.getTimezoneOffset();
  const offset = `UTC${zone < 0 ? "−" : "+"}${Math.floor(Math.abs(zone) / 60)}${zone % 60 ? `:${two(Math.abs(zone) % 60)}` : ""}`;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock(at)}.${ms} ${offset}`;
}

export function formatAgo(iso: Maybe<string>, now: number = Date.now()): string {
  if (!iso) return "never";
  const seconds = Math.max(0, (now - new Date(iso).getTime()) / 1000);
  if (seconds < 45) return "just now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  const days = Math.round(seconds / 86_400);
  return days < 60 ? `${days} d ago` : formatTime(iso);
}

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;
