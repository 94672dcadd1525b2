// Rubrics of the test split: from start to start by h and l.
import { add } from "../frame/keys.js";

const click = (id) => () => document.getElementById(id)?.click();
add("h", "start before", click("before"));
add("l", "start after", click("after"));
