import { config } from "zod/v4/core";

// The stock client's schemas would try whether they may make code, which the page's policy forbids, and says so.
config({ jitless: true });
