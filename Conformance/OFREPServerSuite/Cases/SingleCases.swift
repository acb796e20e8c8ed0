import Experimentation

extension ServerCase {
    /// Single-flag evaluation.
    static let single: [ServerCase] = [
        ServerCase("single/answers", "a flag is answered with 200, its key and its value") { probe in
            let flag = try probe.someFlag()
            let reply = try await probe.ask(.one(Ask.encoded(flag.key), probe.context))
            probe.expect(reply, is: 200, to: flag.key)
            probe.expect(reply.members["key"]?.stringValue == flag.key, "the key is missing or another")
            probe.expect(reply.members["value"] != nil, "the value is missing")
        },
        ServerCase("single/json", "the answer is JSON and says so") { probe in
            let flag = try probe.someFlag()
            let reply = try await probe.ask(.one(Ask.encoded(flag.key), probe.context))
            probe.expect(reply.isJSON, "Content-Type: \(reply.field("Content-Type") ?? "missing")")
            probe.expect(reply.json != nil, "the body isn't JSON, or has a member twice")
        },
        ServerCase("single/reason", "the answer has a standard reason") { probe in
            let flag = try probe.someFlag()
            let reply = try await probe.ask(.one(Ask.encoded(flag.key), probe.context))
            guard let item = FlagItem(.object(reply.members)) else { return probe.fail("no object") }
            probe.expectReason(item)
        },
        ServerCase("single/variant", "the answer has a variant: a client takes its absence for an error") { probe in
            let flag = try probe.someFlag()
            let reply = try await probe.ask(.one(Ask.encoded(flag.key), probe.context))
            probe.expect(reply.members["variant"]?.stringValue != nil, "no variant, or none that is a text")
        },
        ServerCase("single/flat-metadata", "metadata values are strings, numbers and Booleans") { probe in
            let flag = try probe.someFlag()
            let reply = try await probe.ask(.one(Ask.encoded(flag.key), probe.context))
            probe.expect(FlagItem.isFlat(reply.members["metadata"]), "metadata isn't flat")
        },
        ServerCase("single/no-value", "a flag that defers to the caller's default is 200 without a value") { probe in
            guard let flag = probe.survey.good.first(where: { $0.value == nil }) else {
                throw probe.skip("the server has no flag that leaves its value to the caller")
            }
            let reply = try await probe.ask(.one(Ask.encoded(flag.key), probe.context))
            probe.expect(reply, is: 200, to: flag.key)
            probe.expect(reply.members["value"] == nil, "a value where bulk has none")
            probe.expect(reply.members["variant"]?.stringValue != nil, "no variant, which is needed all the same")
        },
        ServerCase("single/absent", "a missing flag is 404 with code, details and key") { probe in
            let reply = try await probe.ask(.one(Survey.absent, probe.context))
            probe.expectRefusal(
                reply,
                [404],
                codes: ["FLAG_NOT_FOUND"],
                key: Survey.absent,
                to: "a flag that isn't there"
            )
        },
        ServerCase("single/failing", "a failing flag is 400 with code, details and key") { probe in
            guard let flag = probe.survey.items.first(where: \.isFailure) else {
                throw probe.skip("no flag of the server fails")
            }
            let reply = try await probe.ask(.one(Ask.encoded(flag.key), probe.context))
            probe.expectRefusal(reply, key: flag.key, to: "a flag that fails")
        },
        ServerCase("single/case", "keys are case-sensitive") { probe in
            let keys = Set(probe.survey.items.map(\.key))
            let flag = try probe.someFlag(where: { !keys.contains($0.key.uppercased()) }, "with small letters")
            let reply = try await probe.ask(.one(Ask.encoded(flag.key.uppercased()), probe.context))
            probe.expect(reply, is: 404, to: flag.key.uppercased())
        },
        ServerCase("single/query", "a query string changes nothing") { probe in
            let flag = try probe.someFlag()
            var ask = Ask.one(Ask.encoded(flag.key), probe.context)
            ask.path += "?a=b"
            let reply = try await probe.ask(ask)
            probe.expect(reply, is: 200, to: "a flag with a query")
            probe.expect(reply.members["key"]?.stringValue == flag.key, "the query became part of the key")
        },
        ServerCase("single/at-once", "eight concurrent requests for one flag get the same answer") { probe in
            let flag = try probe.someFlag()
            let ask = Ask.one(Ask.encoded(flag.key), probe.context)
            let values = try await withThrowingTaskGroup(of: FlagValue?.self) { group in
                for _ in 0..<8 { group.addTask { try await probe.ask(ask).members["value"] } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            probe.expect(values.allSatisfy { $0 == flag.value }, "one of eight got another value")
        },
    ]
}
