import Experimentation

extension ServerCase {
    /// `ETag` and 304: never wrong, and never omitted.
    static let tags: [ServerCase] =
        [
            ServerCase("tags/form", "an ETag is quoted, optionally with the prefix W/", features: [.entityTags]) {
                probe in
                let tag = try await probe.tag()
                let bare = tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...]
                probe.expect(
                    bare.count >= 2 && bare.first == "\"" && bare.last == "\"",
                    "the tag has no quotes: \(tag)"
                )
                let inner = bare.dropFirst().dropLast()
                probe.expect(inner.utf8.allSatisfy { $0 > 32 && $0 != 34 && $0 != 127 }, "what no tag may hold: \(tag)")
            },
            confirmed("tags/same", "the same ETag gives 304", { $0 }),
            confirmed("tags/weak", "a weakened ETag gives 304", { "W/" + $0.strong }),
            confirmed(
                "tags/bare",
                "an ETag without its quotes gives 304",
                { String($0.strong.dropFirst().dropLast()) }
            ),
            confirmed("tags/list", "an ETag in a list gives 304", { "\"one\", \($0.strong), \"two\"" }),
            confirmed("tags/tight-list", "an ETag in a list without spaces gives 304", { "W/\"one\",W/\($0.strong)" }),
            renewed("tags/other", "another ETag gives 200", { _ in "\"another\"" }),
            renewed(
                "tags/part",
                "a part of the ETag doesn't match",
                { "\"\($0.strong.dropFirst().dropLast().dropLast())\"" }
            ),
            renewed("tags/longer", "a longer ETag doesn't match", { "\"\($0.strong.dropFirst().dropLast())0\"" }),
            renewed("tags/empty", "an empty If-None-Match doesn't match", { _ in "" }),
            renewed("tags/commas", "an If-None-Match of commas doesn't match", { _ in ",, ," }),
            renewed("tags/broken", "a malformed If-None-Match doesn't match", { _ in "\"unfinished, W/, \"\"" }),
            ServerCase(
                "tags/empty-304",
                "304 has the tag and no body, and the connection goes on",
                features: [.entityTags],
                writesBytes: true
            ) {
                probe in
                let tag = try await probe.tag()
                var ask = Ask.all(probe.context, ifNoneMatch: tag)
                ask.closes = false
                let bytes = ask.bytes(to: probe.server)
                let replies = try await probe.connect { connection in
                    var replies: [Reply?] = []
                    for _ in 0..<2 {
                        try await connection.send(bytes)
                        replies.append(try await connection.reply())
                    }
                    return replies
                }
                probe.expect(
                    replies.map { $0?.status } == [304, 304],
                    "two questions: \(replies.map { $0?.status ?? 0 })"
                )
                probe.expect(replies.allSatisfy { $0?.field("ETag")?.strong == tag.strong }, "304 without its tag")
            },
            ServerCase("tags/stable", "an unchanged answer keeps its ETag", features: [.entityTags]) { probe in
                let (one, two) = (try await probe.ask(.all(probe.context)), try await probe.ask(.all(probe.context)))
                // A tag may be derived from everything, including whatever changes the address of a stream.
                guard one.body == two.body else { throw probe.skip("the answers differ") }
                probe.expect(one.field("ETag") == two.field("ETag"), "the same answer has two tags")
            },
            ServerCase("tags/order", "the order of a context's members doesn't matter", features: [.entityTags]) {
                probe in
                let members = probe.context.merging(["a": 1, "z": 2]) { $1 }.sorted { $0.key < $1.key }
                func body(_ members: [(key: String, value: FlagValue)]) -> String {
                    let texts = members.map { "\(AnyJSON.text(.string($0.key))):\(AnyJSON.text($0.value))" }
                    return "{\"context\":{\(texts.joined(separator: ","))}}"
                }
                let one = try await probe.ask(.saying(body(members)))
                // A tag may be derived from the request's bytes, so another order may have another tag.
                var ask = Ask.saying(body(members.reversed()))
                if let tag = one.field("ETag") { ask.fields.append(("If-None-Match", tag)) }
                let two = try await probe.ask(ask)
                guard probe.expect(two, is: 200, 304, to: "another order"), two.status == 200 else { return }
                probe.expect(two.byKey == one.byKey, "other flags for another order")
            },
            ServerCase(
                "tags/attributes",
                "an ETag covers the attributes: other flags never give 304",
                features: [.entityTags]
            ) { probe in
                let others = probe.declaration.otherAttributes
                if others.isEmpty { throw probe.skip("no attributes that change the answer are declared") }
                let other = probe.context.merging(others) { $1 }
                let fresh = try await probe.ask(.all(other))
                guard fresh.byKey != probe.survey.bulk?.byKey else { throw probe.skip("the answers are the same") }
                let reply = try await probe.ask(.all(other, ifNoneMatch: try await probe.tag()))
                probe.expect(reply, is: 200, to: "other attributes under the first tag")
                probe.expect(reply.byKey == fresh.byKey, "the flags of other attributes")
            },
            ServerCase(
                "tags/users",
                "over 40 users, no two different answers share an ETag",
                features: [.entityTags]
            ) { probe in
                var seen: [(tag: String, flags: [String: FlagItem])] = []
                for number in 0..<40 {
                    let context = probe.context.merging(["targetingKey": .string("user-\(number)")]) { $1 }
                    let reply = try await probe.ask(.all(context))
                    guard let tag = reply.field("ETag") else { return probe.fail("an answer without a tag") }
                    // A tag may cover the user, so one answer may have two tags.
                    for other in seen {
                        probe.expect(other.tag != tag || other.flags == reply.byKey, "two answers, one tag")
                    }
                    seen.append((tag, reply.byKey))
                }
            },
            ServerCase(
                "tags/refusals",
                "an invalid request is rejected, whatever its If-None-Match",
                features: [.entityTags]
            ) { probe in
                var ask = Ask.saying("{")
                ask.fields.append(("If-None-Match", try await probe.tag()))
                probe.expectRefusal(try await probe.ask(ask), to: "a bad body with a tag")
            },
            ServerCase(
                "tags/query",
                "a configuration's ETag in the query never gives 304",
                features: [.entityTags]
            ) { probe in
                let query = "?flagConfigEtag=" + Ask.encoded(try await probe.tag())
                probe.expect(try await probe.ask(.all(probe.context, query: query)), is: 200, to: "flagConfigEtag")
            },
        ]

    private static func confirmed(
        _ name: String,
        _ summary: String,
        _ field: @escaping @Sendable (String) -> String
    ) -> ServerCase {
        ServerCase(name, summary, features: [.entityTags]) { probe in
            let reply = try await probe.ask(.all(probe.context, ifNoneMatch: field(try await probe.tag())))
            probe.expect(reply, is: 304, to: summary)
            probe.expect(reply.body.isEmpty, "304 with a body")
        }
    }

    private static func renewed(
        _ name: String,
        _ summary: String,
        _ field: @escaping @Sendable (String) -> String
    ) -> ServerCase {
        ServerCase(name, summary, features: [.entityTags]) { probe in
            let reply = try await probe.ask(.all(probe.context, ifNoneMatch: field(try await probe.tag())))
            probe.expect(reply, is: 200, to: summary)
            probe.expect(reply.byKey == probe.survey.bulk?.byKey, "another answer")
        }
    }
}

extension ServerProbe {
    /// The tag of the answer for the default context.
    func tag() async throws -> String {
        guard let tag = try await ask(.all(context)).field("ETag") else {
            throw Trouble.ended("an answer has no tag where an earlier one had")
        }
        return tag
    }
}

extension String {
    /// The tag without the prefix of weak tags.
    var strong: String { hasPrefix("W/") ? String(dropFirst(2)) : self }
}
