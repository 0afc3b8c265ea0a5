/** What a role may do, as the server decides it. */

import type { Role } from "@/lib/api/types";

export const ROLES: readonly Role[] = ["viewer", "member", "admin", "owner"];

export const DESCRIPTIONS: Record<Role, string> = {
  viewer: "reads traces, prompts and runs",
  member: "also writes prompts, moves labels, starts runs",
  admin: "also manages keys, connections and members",
  owner: "also makes and removes owners",
};

/** Each thing and the lowest role that may do it. */
export const ABILITIES: { what: string; from: Role }[] = [
  { what: "Read traces, prompts and runs", from: "viewer" },
  { what: "Write prompts and move their labels", from: "member" },
  { what: "Use the playground and start runs", from: "member" },
  { what: "See which API keys there are", from: "member" },
  { what: "Make and revoke API keys", from: "admin" },
  { what: "Add and change connections", from: "admin" },
  { what: "Add, change and remove members", from: "admin" },
  { what: "Make somebody an owner, or end that", from: "owner" },
];

export const covers = (role: Role, needed: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(needed);

/** Whether a role may give, change or take another: owners any, admins all but owner. */
export const mayManage = (role: Role, other: Role): boolean => role === "owner" || (role === "admin" && other !== "owner");

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
