// Made by `npm run api` from a server's /openapi.json. Not to be changed by hand.

export interface paths {
    "/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            agents: {
                                default: boolean;
                                name: string;
                            }[];
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            next?: string;
                            threads: components["schemas"]["Thread"][];
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Thread"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            next?: string;
                            records: components["schemas"]["Record"][];
                            tail: number;
                            threadId: string;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread}/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            durable: number;
                            followers: number;
                            now: number;
                            runs: {
                                epoch: number;
                                leaseUntil: number;
                                next: number;
                                runId: string;
                            }[];
                            threadId: string;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            before?: string;
                            messages: components["schemas"]["Message"][];
                            next: number;
                            runId: string | null;
                            threadId: string;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            runs: components["schemas"]["Run"][];
                            threadId: string;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread}/runs/{run}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Run"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread}/runs/{run}/artifact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Artifact"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread}/runs/{run}/artifact/statement": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ArtifactStatement"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread}/runs/{run}/findings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            findings: components["schemas"]["Finding"][];
                            omitted: number;
                            runId: string;
                            threadId: string;
                            /** @enum {string} */
                            verdict: "conformant" | "warnings" | "drift" | "severe" | "unreadable";
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/threads/{thread}/state": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": {
                            next: number;
                            runId: string | null;
                            state: unknown;
                            threadId: string;
                        };
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** Artifact */
        Artifact: {
            error_code?: string;
            error_message?: string;
            finished_at?: string;
            framework: string;
            messages: {
                content: string;
                id: string;
                name?: string;
                role: string;
            }[];
            parent_run_id_ref?: string;
            run_id_ref: string;
            schema: string;
            started_at: string;
            surface: string;
            /** @enum {string} */
            terminal_event: "RUN_FINISHED" | "RUN_ERROR";
            thread_id_ref: string;
        };
        /** ArtifactStatement */
        ArtifactStatement: {
            _type: string;
            predicate: Record<string, never>;
            predicateType: string;
            subject: Record<string, never>[];
        };
        /** Content */
        Content: string | components["schemas"]["ContentPart"][];
        /** ContentPart */
        ContentPart: {
            id?: string;
            metadata?: Record<string, never> | unknown[] | string | number | boolean;
            text: string;
            /** @constant */
            type: "text";
        } | {
            id?: string;
            metadata?: Record<string, never> | unknown[] | string | number | boolean;
            source: {
                mimeType: string;
                /** @constant */
                type: "data";
                value: string;
            } | {
                mimeType?: string;
                /** @constant */
                type: "url";
                value: string;
            } | {
                mimeType?: string;
                provider?: string;
                /** @constant */
                type: "file";
                value: string;
            };
            /** @constant */
            type: "image";
        } | {
            id?: string;
            metadata?: Record<string, never> | unknown[] | string | number | boolean;
            source: {
                mimeType: string;
                /** @constant */
                type: "data";
                value: string;
            } | {
                mimeType?: string;
                /** @constant */
                type: "url";
                value: string;
            } | {
                mimeType?: string;
                provider?: string;
                /** @constant */
                type: "file";
                value: string;
            };
            /** @constant */
            type: "audio";
        } | {
            id?: string;
            metadata?: Record<string, never> | unknown[] | string | number | boolean;
            source: {
                mimeType: string;
                /** @constant */
                type: "data";
                value: string;
            } | {
                mimeType?: string;
                /** @constant */
                type: "url";
                value: string;
            } | {
                mimeType?: string;
                provider?: string;
                /** @constant */
                type: "file";
                value: string;
            };
            /** @constant */
            type: "video";
        } | {
            id?: string;
            metadata?: Record<string, never> | unknown[] | string | number | boolean;
            source: {
                mimeType: string;
                /** @constant */
                type: "data";
                value: string;
            } | {
                mimeType?: string;
                /** @constant */
                type: "url";
                value: string;
            } | {
                mimeType?: string;
                provider?: string;
                /** @constant */
                type: "file";
                value: string;
            };
            /** @constant */
            type: "document";
        };
        /** Event */
        Event: {
            type: string;
        };
        /** Finding */
        Finding: {
            advice: string;
            code: string;
            count: number;
            message: string;
            offsets: number[];
            path: string;
            /** @enum {string} */
            severity: "error" | "warning" | "note";
            type?: string;
        };
        /** Message */
        Message: {
            content: string;
            encryptedValue?: string;
            id: string;
            metadata?: Record<string, never>;
            name?: string;
            /** @constant */
            role: "developer";
            subagentRunId?: string;
        } | {
            content: string;
            encryptedValue?: string;
            id: string;
            metadata?: Record<string, never>;
            name?: string;
            /** @constant */
            role: "system";
            subagentRunId?: string;
        } | {
            content?: string;
            encryptedValue?: string;
            id: string;
            metadata?: Record<string, never>;
            name?: string;
            /** @constant */
            role: "assistant";
            subagentRunId?: string;
            toolCalls?: {
                encryptedValue?: string;
                function: {
                    arguments: string;
                    name: string;
                };
                id: string;
                metadata?: Record<string, never>;
                /** @enum {string} */
                type: "function";
            }[];
        } | {
            content: components["schemas"]["Content"];
            encryptedValue?: string;
            id: string;
            metadata?: Record<string, never>;
            name?: string;
            /** @constant */
            role: "user";
            subagentRunId?: string;
        } | {
            content: components["schemas"]["Content"];
            encryptedValue?: string;
            error?: string;
            id: string;
            metadata?: Record<string, never>;
            /** @constant */
            role: "tool";
            subagentRunId?: string;
            toolCallId: string;
        } | {
            activityType: string;
            content: Record<string, never>;
            id: string;
            metadata?: Record<string, never>;
            /** @constant */
            role: "activity";
            subagentRunId?: string;
        } | {
            content: string;
            encryptedValue?: string;
            id: string;
            metadata?: Record<string, never>;
            /** @constant */
            role: "reasoning";
            subagentRunId?: string;
        };
        /** Record */
        Record: {
            event?: unknown;
            hex?: string;
            /** @enum {string} */
            kind: "event" | "transcoded" | "made" | "rejected";
            offset: number;
            run: string;
            text?: string;
            time: number;
        };
        /** Run */
        Run: {
            compacted: boolean;
            ended: number | null;
            errorCode: string | null;
            first: number;
            next: number;
            outcome: unknown;
            parentRunId: string | null;
            records: number;
            runId: string;
            spawnedBy: string | null;
            started: number;
            /** @enum {string} */
            status: "running" | "finished" | "interrupted" | "cancelled" | "failed" | "abandoned";
            usage: unknown;
        };
        /** RunAgentInput */
        RunAgentInput: {
            context?: {
                description: string;
                value: string;
            }[];
            forwardedProps?: Record<string, never> | unknown[] | string | number | boolean;
            messages: components["schemas"]["Message"][];
            parentRunId?: string;
            protocolVersion?: string;
            resume?: {
                interruptId: string;
                metadata?: Record<string, never>;
                payload?: Record<string, never> | unknown[] | string | number | boolean;
                /** @enum {string} */
                status: "resolved" | "cancelled";
            }[];
            runId: string;
            state?: unknown;
            threadId: string;
            tools?: {
                description: string;
                metadata?: Record<string, never>;
                name: string;
                parameters?: Record<string, never> | unknown[] | string | number | boolean;
            }[];
        };
        /** Thread */
        Thread: {
            agent: string | null;
            app: string;
            archived: boolean;
            bytes: number;
            created: number;
            first: number;
            incarnation: string;
            labels: {
                [key: string]: string;
            };
            name: string | null;
            runs: number;
            status: ("running" | "finished" | "interrupted" | "cancelled" | "failed" | "abandoned") | null;
            tail: number;
            threadId: string;
            updated: number;
            user: string;
        };
        /** ThreadAndRun */
        ThreadAndRun: {
            forwardedProps?: unknown;
            protocolVersion?: string | null;
            runId?: string | null;
            threadId: string;
        };
        /** ThreadChange */
        ThreadChange: {
            archived?: boolean;
            labels?: {
                [key: string]: string | null;
            };
            name?: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
