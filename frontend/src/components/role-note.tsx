import "./role-note.css";

import { Lock } from "lucide-react";

import { useProject } from "@/hooks/use-project";
import type { Role } from "@/lib/api/types";

const WHO: Record<Role, string> = { viewer: "anybody here", member: "members", admin: "admins and owners", owner: "owners" };

/** Why nothing can be done here, and who can change that. */
export function RoleNote({ needs, what }: { needs: Role; what: string }) {
  const { role } = useProject();
  return (
    <p className="role-note muted">
      <Lock size={13} aria-hidden="true" /> You are {/^[aeiou]/.test(role) ? "an" : "a"} {role} here. {what} is for {WHO[needs]}.
    </p>
  );
}
