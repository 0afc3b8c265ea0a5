import { GroupsPage } from "./groups-page";

export default function UsersPage() {
  return <GroupsPage kind="users" />;
}
