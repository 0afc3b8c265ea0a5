export { TypeIcon } from "@/components/type-icon";
