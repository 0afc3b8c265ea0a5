/** Shares of a split label, as people type them. */

import type { PromptArm } from "@/lib/api/types";

export interface Share {
  version: number;
  text: string;
}

/** The share of each arm in percent, with at most one decimal. */
export function percents(arms: readonly PromptArm[]): string[] {
  const total = arms.reduce((sum, arm) => sum + arm.weight, 0);
  return arms.map((arm) => String(Number(((arm.weight / total) * 100).toFixed(1))));
}

/** `v3 90 % · v4 10 %` */
export const spelled = (arms: readonly PromptArm[]): string => percents(arms).map((share, index) => `v${arms[index]!.version} ${share} %`).join(" · ");

/** What is wrong with the shares, or null. */
export function sharesProblem(shares: readonly Share[]): string | null {
  const values = shares.map(({ text }) => Number(text.replace(",", ".")));
  if (values.some((value) => !(value >= 0.1) || value > 99.9)) return "Each share is a percentage from 0.1 to 99.9";
  const sum = values.reduce((total, value) => total + value, 0);
  return Math.abs(sum - 100) < 0.05 ? null : `The shares make ${Number(sum.toFixed(1))} %; they should make 100 %`;
}

/** Weights out of percentages: tenths of a percent, so they stay whole. */
export const armsOf = (shares: readonly Share[]): PromptArm[] =>
  shares.map(({ version, text }) => ({ version, weight: Math.round(Number(text.replace(",", ".")) * 10) }));

/** The other share follows while there are two. */
export function withShare(shares: readonly Share[], index: number, text: string): Share[] {
  const next = shares.map((share, at) => (at === index ? { ...share, text } : share));
  const value = Number(text.replace(",", "."));
  if (shares.length === 2 && value > 0 && value < 100) {
    const other = 1 - index;
    next[other] = { ...next[other]!, text: String(Number((100 - value).toFixed(1))) };
  }
  return next;
}
