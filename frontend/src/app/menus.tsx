import { useQueryClient } from "@tanstack/react-query";
import { ChevronsUpDown, LogOut, Monitor, Moon, Sun } from "lucide-react";
import { Fragment, useState, type ReactElement } from "react";
import { useLocation } from "wouter";

import { Menu, MenuItem, MenuLabel, MenuLine } from "@/components/menu";
import { useProject } from "@/hooks/use-project";
import { api, messageOf } from "@/lib/api/client";
import { sessionQuery } from "@/lib/api/queries";
import type { Session, User } from "@/lib/api/types";
import { announce } from "@/lib/announce";
import { currentTheme, setTheme, type Theme } from "@/lib/theme";

export function ProjectMenu({ session, narrow }: { session: Session; narrow: boolean }) {
  const project = useProject();
  const [, go] = useLocation();
  const groups = Map.groupBy(session.projects, (p) => p.organization.name);
  return (
    <Menu
      trigger={
        <button type="button" className="side-head" aria-label={`Project ${project.name}`} title={narrow ? project.name : undefined}>
          <img className="side-mark" src="/icon.svg" alt="" />
          <span className="ellipsis">{project.name}</span>
          <ChevronsUpDown size={14} aria-hidden="true" className="faint" />
        </button>
      }
    >
      {[...groups].map(([organization, projects]) => (
        <Fragment key={organization}>
          <MenuLabel>{organization}</MenuLabel>
          {projects.map((p) => (
            <MenuItem key={p.slug} checked={p.slug === project.slug} onSelect={() => go(`/p/${p.slug}/traces`)}>
              {p.name}
            </MenuItem>
          ))}
        </Fragment>
      ))}
    </Menu>
  );
}

export function UserMenu({ user, narrow }: { user: User; narrow: boolean }) {
  const [theme, choose] = useTheme();
  const signOut = useSignOut();
  const name = user.name || user.email;
  return (
    <Menu
      side="top"
      trigger={
        <button type="button" className="side-user" aria-label={`Account ${name}`} title={narrow ? name : undefined}>
          <i className="avatar" aria-hidden="true" data-initial={name.slice(0, 1)} />
          <span className="ellipsis">{name}</span>
        </button>
      }
    >
      <MenuLabel>{user.email}</MenuLabel>
      {THEMES.map(({ value, label, icon }) => (
        <MenuItem key={value} icon={icon} checked={value === theme} onSelect={() => choose(value)}>
          {label}
        </MenuItem>
      ))}
      <MenuLine />
      <MenuItem icon={<LogOut size={15} />} onSelect={() => void signOut()}>
        Sign out
      </MenuItem>
    </Menu>
  );
}

export const THEMES: { value: Theme; label: string; icon: ReactElement }[] = [
  { value: "system", label: "System theme", icon: <Monitor size={15} /> },
  { value: "light", label: "Light theme", icon: <Sun size={15} /> },
  { value: "dark", label: "Dark theme", icon: <Moon size={15} /> },
];

function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setShown] = useState(currentTheme);
  const choose = (next: Theme) => {
    setTheme(next);
    setShown(next);
  };
  return [theme, choose];
}

export function useSignOut(): () => Promise<void> {
  const queries = useQueryClient();
  const [, go] = useLocation();
  return async () => {
    try {
      await api.post("auth/logout");
    } catch (error) {
      announce(`Not signed out: ${messageOf(error)}`, "error");
      return;
    }
    go("/login");
    queries.clear();
    queries.setQueryData(sessionQuery.queryKey, null);
  };
}
