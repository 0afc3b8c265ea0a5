import { GroupsPage } from "./groups-page";

export default function SessionsPage() {
  return <GroupsPage kind="sessions" />;
}
