import { Bot, CircleAlert, CircleDot, DatabaseZap, Sparkles, Wrench, type LucideIcon } from "lucide-react";

import { typeColor } from "@/lib/palette";

const ICONS: Record<string, LucideIcon> = { generation: Sparkles, tool: Wrench, retriever: DatabaseZap, agent: Bot };

/** The kind of an observation by its icon and its quiet hue. */
export function TypeIcon({ type, failed }: { type: string; failed?: boolean }) {
  const Icon = failed ? CircleAlert : (ICONS[type.toLowerCase()] ?? CircleDot);
  return <Icon size={14} role="img" aria-label={failed ? `failed ${type}` : type} style={{ color: failed ? "var(--error)" : typeColor(type) }} />;
}
