import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import { allPages } from "@/lib/api/all-pages";
import { api, inProject } from "@/lib/api/client";
import type { ApiKey, Connection, ConnectionCheck, Member, Role } from "@/lib/api/types";

/** A person who is new here has a first password, told once. */
type AddedMember = Member & { initial_password: string | null };

const list = <T>(project: string, what: string) =>
  queryOptions({
    queryKey: ["project", project, what, "all"],
    queryFn: ({ signal }) => allPages<T>(inProject(project, what), signal),
  });

export const keysQuery = (project: string) => list<ApiKey>(project, "keys");
export const connectionsQuery = (project: string) => list<Connection>(project, "connections");
export const membersQuery = (project: string) => list<Member>(project, "members");

/** A change of one of the lists, which is read again after it. */
function useChange<Input, Output>(lists: string[], change: (project: string, input: Input) => Promise<Output>) {
  const { slug } = useProject();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (input: Input) => change(slug, input),
    onSuccess: () => Promise.all(lists.map((what) => queries.invalidateQueries({ queryKey: ["project", slug, what] }))),
  });
}

export const useCreateKey = () => useChange(["keys"], (project, name: string) => api.post<ApiKey>(inProject(project, "keys"), { name }));

export const useRevokeKey = () => useChange(["keys"], (project, id: number) => api.delete<unknown>(inProject(project, "keys", id)));

export interface ConnectionFields {
  name: string;
  base_url: string;
  /** Left out: the key stays as it is. Empty: it is forgotten. */
  api_key?: string;
  models: string[];
}

const CONNECTIONS = ["connections", "models"];

export const useSaveConnection = (id: Connection["id"] | null) =>
  useChange(CONNECTIONS, (project, fields: Partial<ConnectionFields>) =>
    id === null ? api.post<Connection>(inProject(project, "connections"), fields) : api.patch<Connection>(inProject(project, "connections", id), fields),
  );

export const useDeleteConnection = () => useChange(CONNECTIONS, (project, id: Connection["id"]) => api.delete<unknown>(inProject(project, "connections", id)));

export const useTestConnection = (id: Connection["id"]) =>
  useChange<void, ConnectionCheck>([], (project) => api.post<ConnectionCheck>(inProject(project, "connections", id, "test")));

export interface NewMember {
  email: string;
  name?: string;
  role: Role;
  password?: string;
}

export const useAddMember = () => useChange(["members"], (project, member: NewMember) => api.post<AddedMember>(inProject(project, "members"), member));

export const useChangeRole = () =>
  useChange(["members"], (project, { id, role }: { id: number; role: Role }) => api.patch<Member>(inProject(project, "members", id), { role }));

export const useRemoveMember = () => useChange(["members"], (project, id: number) => api.delete<unknown>(inProject(project, "members", id)));
