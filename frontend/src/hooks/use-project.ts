import { createContext, useContext } from "react";

import type { Project, Role } from "@/lib/api/types";

export const ProjectContext = createContext<Project | null>(null);

/** The project of the address; only pages under /p/:project may ask. */
export function useProject(): Project {
  const project = useContext(ProjectContext);
  if (!project) throw new Error("useProject needs a page under /p/:project");
  return project;
}

const RANK: Record<Role, number> = { viewer: 0, member: 1, admin: 2, owner: 3 };

export const useMay = (role: Role): boolean => RANK[useProject().role] >= RANK[role];
