// A step: through its episode by h and l, back to its group by u.
import { add } from "../frame/keys.js";

const click = (id) => () => document.getElementById(id)?.click();
add("h", "step before", click("before"));
add("l", "step after", click("after"));
add("u", "up to the group", click("group"));
