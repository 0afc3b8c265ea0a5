import { useQuery } from "@tanstack/react-query";
import { Check, UserPlus } from "lucide-react";
import { lazy, Suspense, useState } from "react";

import { Button } from "@/components/button";
import { Select } from "@/components/field";
import { RoleNote } from "@/components/role-note";
import { Loaded } from "@/components/states";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import { sessionQuery } from "@/lib/api/queries";
import type { Member, Role } from "@/lib/api/types";

import { membersQuery, useChangeRole, useRemoveMember } from "./api";
import { ABILITIES, capital, covers, mayManage, ROLES } from "./roles";
import { SectionHead } from "./section-head";

const Confirm = lazy(() => import("@/components/confirm"));
const AddMember = lazy(() => import("./add-member"));

export function Members() {
  const { slug, organization } = useProject();
  const may = useMay("admin");
  const query = useQuery(membersQuery(slug));
  const [adding, setAdding] = useState(false);
  useHotkey("n", "Add a member", () => setAdding(true), { enabled: may });
  return (
    <>
      <section className="section">
        <SectionHead
          title="Members"
          text={`People of ${organization.name}. A role holds in all its projects.`}
          action={
            may && (
              <Button variant="primary" icon={<UserPlus size={15} />} keys="n" onClick={() => setAdding(true)}>
                Add member
              </Button>
            )
          }
        />
        {!may && <RoleNote needs="admin" what="Adding people and changing roles" />}
        <Loaded query={query} what="The members">
          {(members) => <MemberTable members={members} />}
        </Loaded>
      </section>
      <Abilities />
      {adding && (
        <Suspense>
          <AddMember onClose={() => setAdding(false)} />
        </Suspense>
      )}
    </>
  );
}

function MemberTable({ members }: { members: Member[] }) {
  const { organization } = useProject();
  const me = useQuery(sessionQuery).data?.user.email;
  const owners = members.filter((member) => member.role === "owner").length;
  const [leaving, setLeaving] = useState<Member | null>(null);
  const remove = useRemoveMember();
  const confirmed = (member: Member) =>
    remove.mutate(member.id, {
      onSuccess: () => (member.email === me ? window.location.assign("/") : announce(`${nameOf(member)} is no member any more`)),
      onError: (error) => announce(`Not removed: ${messageOf(error)}`, "error"),
      onSettled: () => setLeaving(null),
    });
  return (
    <div className="table-scroll settings-table" tabIndex={0} role="group" aria-label="Members">
      <table className="table">
        <thead>
          <tr>
            <th>Person</th>
            <th>Role</th>
            <th>
              <span className="sr-only">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {members.map((member) => (
            <MemberRow key={member.id} member={member} isMe={member.email === me} isLatestOwner={member.role === "owner" && owners === 1} onRemove={() => setLeaving(member)} />
          ))}
        </tbody>
      </table>
      {leaving && (
        <Suspense>
          <Confirm
            title={leaving.email === me ? `Leave ${organization.name}?` : `Remove ${nameOf(leaving)}?`}
            description={leaving.email === me ? "You lose sight of all its projects until somebody adds you again." : `${leaving.email} loses sight of all projects of ${organization.name}. What they wrote stays.`}
            action={leaving.email === me ? "Leave" : "Remove"}
            busy={remove.isPending}
            onConfirm={() => confirmed(leaving)}
            onClose={() => setLeaving(null)}
          />
        </Suspense>
      )}
    </div>
  );
}

const nameOf = (member: Member): string => member.name || member.email;

interface RowProps {
  member: Member;
  isMe: boolean;
  isLatestOwner: boolean;
  onRemove: () => void;
}

function MemberRow({ member, isMe, isLatestOwner, onRemove }: RowProps) {
  const { role } = useProject();
  const manages = mayManage(role, member.role);
  return (
    <tr>
      <td className="settings-person">
        <span>
          {member.name || member.email}
          {isMe && <span className="faint"> you</span>}
        </span>
        {member.name && <span className="faint">{member.email}</span>}
      </td>
      <td className="settings-role">
        <RoleSelect member={member} manages={manages} isLatestOwner={isLatestOwner} />
      </td>
      <td className="num">
        {(manages || isMe) && (
          <Button variant="quiet" size="small" className="settings-revoke" disabled={isLatestOwner} title={isLatestOwner ? "There has to be at least one owner" : undefined} aria-label={isMe ? "Leave" : `Remove ${nameOf(member)}`} onClick={onRemove}>
            {isMe ? "Leave" : "Remove"}
          </Button>
        )}
      </td>
    </tr>
  );
}

/** Shows the new role at once, and the old one again where the server refuses. */
function RoleSelect({ member, manages, isLatestOwner }: { member: Member; manages: boolean; isLatestOwner: boolean }) {
  const { role } = useProject();
  const change = useChangeRole();
  if (!manages) return <span className="muted">{capital(member.role)}</span>;
  const choose = (next: Role) =>
    change.mutate(
      { id: member.id, role: next },
      {
        onSuccess: () => announce(`${nameOf(member)} is ${next} now`),
        onError: (error) => announce(`The role was not changed: ${messageOf(error)}`, "error"),
      },
    );
  return (
    <Select
      aria-label={`Role of ${nameOf(member)}`}
      value={change.isPending ? change.variables.role : member.role}
      disabled={isLatestOwner || change.isPending}
      title={isLatestOwner ? "There has to be at least one owner" : undefined}
      onChange={(event) => choose(event.target.value as Role)}
    >
      {ROLES.filter((each) => mayManage(role, each)).map((each) => (
        <option key={each} value={each}>
          {capital(each)}
        </option>
      ))}
    </Select>
  );
}

function Abilities() {
  const { role } = useProject();
  return (
    <section className="section">
      <SectionHead title="What a role may do" text={`You are ${/^[ao]/.test(role) ? "an" : "a"} ${role} here.`} />
      <div className="table-scroll settings-table" tabIndex={0} role="group" aria-label="What a role may do">
        <table className="table settings-abilities">
          <thead>
            <tr>
              <th>
                <span className="sr-only">Ability</span>
              </th>
              {ROLES.map((each) => (
                <th key={each} scope="col" data-mine={each === role}>
                  {capital(each)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {ABILITIES.map(({ what, from }) => (
              <tr key={what}>
                <th scope="row">{what}</th>
                {ROLES.map((each) => (
                  <td key={each} data-mine={each === role}>
                    {covers(each, from) ? <Check size={14} aria-label="yes" /> : <span className="faint" aria-label="no">–</span>}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
