import Experimentation

extension ServerCase {
    /// Bulk evaluation.
    static let bulk: [ServerCase] = [
        ServerCase("bulk/answers", "a context is answered with 200 and a list of flags") { probe in
            let reply = try await probe.ask(.all(probe.context))
            probe.expect(reply, is: 200, to: "all flags")
            guard case .array? = reply.members["flags"] else { return probe.fail("there is no list \"flags\"") }
            probe.expect(reply.items.count == reply.flagCount, "an item of \"flags\" is no object")
        },
        ServerCase("bulk/json", "the answer is JSON and says so") { probe in
            let reply = try await probe.ask(.all(probe.context))
            probe.expect(reply.isJSON, "Content-Type: \(reply.field("Content-Type") ?? "missing")")
            probe.expect(reply.json != nil, "the body isn't JSON, or has a member twice")
        },
        ServerCase("bulk/keys", "every item has its key") { probe in
            for item in try probe.someItems() {
                probe.expect(!item.key.isEmpty, "an item without a key: \(item.members)")
            }
        },
        ServerCase("bulk/keys-once", "an answer has no key twice") { probe in
            let keys = try probe.someItems().map(\.key)
            probe.expect(Set(keys).count == keys.count, "a key is there twice")
        },
        ServerCase("bulk/reasons", "every flag has a standard reason") { probe in
            for item in try probe.goodItems() { probe.expectReason(item) }
        },
        ServerCase("bulk/variants", "every flag has a variant: a client takes its absence for an error") { probe in
            for item in try probe.goodItems() {
                probe.expect(item.variant != nil, "\(item.key): no variant, or none that is a text")
            }
        },
        ServerCase("bulk/no-null", "a value deferred to the caller's default is absent, not null") { probe in
            for item in try probe.someItems() { probe.expect(item.value != .null, "\(item.key): \"value\" is null") }
        },
        ServerCase("bulk/values", "every flag has a value, or defers to the caller's default when requested alone, too")
        { probe in
            for item in try probe.goodItems().filter({ $0.value == nil }).prefix(30) {
                let alone = try await probe.ask(.one(Ask.encoded(item.key), probe.context))
                probe.expect(alone.status == 200, "\(item.key), which has no value: alone \(alone.status)")
                probe.expect(alone.members["value"] == nil, "\(item.key): a value only where it is asked for alone")
            }
            probe.expect(true, "")
        },
        ServerCase("bulk/failures", "a failing flag has a code and details, and no value") { probe in
            let failing = probe.survey.items.filter(\.isFailure)
            if failing.isEmpty { throw probe.skip("no flag of the server fails") }
            for item in failing {
                probe.expect(item.errorCode.map(FlagItem.codes.contains) == true, "\(item.key): errorCode")
                probe.expect(
                    item.members["errorDetails"]?.stringValue?.isEmpty == false,
                    "\(item.key): no errorDetails"
                )
                probe.expect(item.value == nil, "\(item.key): a value beside an error")
            }
        },
        ServerCase("bulk/flat-metadata", "a flag's metadata values are strings, numbers and Booleans") { probe in
            for item in try probe.someItems() {
                probe.expect(FlagItem.isFlat(item.members["metadata"]), "\(item.key): metadata isn't flat")
            }
        },
        ServerCase("bulk/flat-frame", "the answer's metadata values are strings, numbers and Booleans") { probe in
            let reply = try await probe.ask(.all(probe.context))
            probe.expect(FlagItem.isFlat(reply.members["metadata"]), "the answer's metadata isn't flat")
        },
        ServerCase("bulk/no-error-in-good", "an answer with flags isn't an error") { probe in
            let reply = try await probe.ask(.all(probe.context))
            probe.expect(reply.members["errorCode"] == nil, "an errorCode beside the flags")
        },
        ServerCase("bulk/same-again", "the same request gets the same answer") { probe in
            let first = try await probe.ask(.all(probe.context))
            let second = try await probe.ask(.all(probe.context))
            probe.expect(first.byKey == second.byKey, "two answers to one question differ")
        },
        ServerCase("bulk/agrees", "each flag is the same when requested alone") { probe in
            let reply = try await probe.ask(.all(probe.context))
            for item in reply.items.filter({ !$0.isFailure && !$0.key.isEmpty }).prefix(30) {
                let alone = try await probe.ask(.one(Ask.encoded(item.key), probe.context))
                probe.expect(alone.status == 200, "\(item.key): alone \(alone.status)")
                let members = alone.members
                probe.expect(members["value"] == item.value, "\(item.key): another value alone")
                probe.expect(members["variant"] == item.members["variant"], "\(item.key): another variant alone")
            }
        },
        ServerCase("bulk/query", "configuration validators in the query are accepted") { probe in
            let query = "?flagConfigEtag=%22x%22&flagConfigLastModified=2026-01-01T00%3A00%3A00Z"
            let reply = try await probe.ask(.all(probe.context, query: query))
            probe.expect(reply, is: 200, to: "all flags with a query")
        },
        ServerCase("bulk/unknown-members", "unknown members of the body are ignored") { probe in
            let body: FlagValue = ["context": .object(probe.context), "flagKeys": ["x"], "later": ["a": 1]]
            let reply = try await probe.ask(.saying(AnyJSON.text(body)))
            probe.expect(reply, is: 200, to: "a body with unknown members")
        },
        ServerCase("bulk/at-once", "eight concurrent requests get the same answer") { probe in
            let replies = try await withThrowingTaskGroup(of: Reply.self) { group in
                for _ in 0..<8 { group.addTask { try await probe.ask(.all(probe.context)) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            probe.expect(replies.allSatisfy { $0.status == 200 }, "one of eight wasn't 200")
            probe.expect(Set(replies.map { $0.items.count }).count == 1, "different numbers of flags")
        },
    ]
}
