import "./agent/strict";
import { render } from "preact";
import { follow } from "./model/threads";
import "./style.css";
import { App } from "./view/app";

void follow();
render(<App />, document.body);
