import Experimentation
import Foundation
import Testing

extension OpenFeatureScene {
    /// Runs a step.
    func take(_ step: GherkinScenario.Step) async throws {
        let text = step.text
        let quoted = Self.quoted(in: text)
        if try await arrange(text, quoted, step.table) { return }
        if try await act(text, quoted) { return }
        if try expectDetails(text, quoted, step.table) { return }
        if try await expectOldForm(text, quoted) { return }
        throw UnknownStep(description: text)
    }

    // MARK: Given

    private func arrange(_ text: String, _ quoted: [String], _ table: [[String]]) async throws -> Bool {
        switch text {
        case "a stable provider": try await start("stable")
        case "a not ready provider": try await start("not ready")
        case "a fatal provider": try await start("fatal")
        case "a error provider": try await start("error")
        case "a stale provider": try await start("stale")
        case "a stable provider with retrievable context is registered": try await start("retrievable")
        case "a client with added hook": try #require(client).addHooks(OpenFeatureHook(calls: calls))
        case "evaluation options containing specific hooks":
            options.hooks = ["one", "two"].map { OpenFeatureHook($0, calls: calls) }
        case "an evaluation context with modifiable data": invocation = ["modifiable": ["list": [1, 2]]]
        case "A table with levels of increasing precedence": levels = table.compactMap(\.first)
        default: return try arrangeMore(text, quoted)
        }
        return true
    }

    private func arrangeMore(_ text: String, _ quoted: [String]) throws -> Bool {
        if text.contains("-flag with key "), text.contains("and a fallback value"), quoted.count == 2 {
            let words = text.split(separator: "-").first?.split(separator: " ") ?? []
            asked = (String(words.last ?? ""), quoted[0], quoted[1])
        } else if text.hasPrefix("a context containing a key"), quoted.count == 3 {
            invocation[quoted[0]] = try typed(quoted[2], quoted[1])
        } else if text.hasPrefix("a context containing a key"), text.hasSuffix("with null value") {
            invocation.values[quoted[0]] = .null
        } else if text.hasPrefix("A context entry with key"), quoted.count == 3 {
            try add(quoted[0], quoted[1], to: quoted[2])
        } else if text.hasPrefix("Context entries for each level from API level down to"), quoted.count == 3 {
            for level in levels {
                try add(quoted[1], level == quoted[0] ? quoted[2] : level, to: level)
                if level == quoted[0] { break }
            }
        } else {
            return false
        }
        return true
    }

    // MARK: When

    private func act(_ text: String, _ quoted: [String]) async throws -> Bool {
        switch text {
        case "the flag was evaluated with details": try await evaluate()
        case "the flag was evaluated with details using the evaluation options": try await evaluate(options: options)
        case "the flag was evaluated with details asynchronously": try await evaluateAsynchronously()
        case "Some flag was evaluated":
            asked = ("Boolean", "some-flag", "false")
            try await evaluate()
        default: return false
        }
        return true
    }

    /// The asynchronous form: refreshes the session first.
    private func evaluateAsynchronously() async throws {
        let (type, key, fallback) = try #require(asked)
        let session = try #require(client).session(for: User(id: "user", attributes: invocation, consent: .granted))
        try await session.refresh()
        details =
            switch type {
            case "Boolean": session.details(key, default: fallback == "true").erased { .bool($0) }
            case "Integer": session.details(key, default: try #require(Int(fallback))).erased { .int($0) }
            case "Float": session.details(key, default: try #require(Double(fallback))).erased { .double($0) }
            case "String": session.details(key, default: fallback).erased { .string($0) }
            default: session.details(key, default: try Self.json(fallback)).erased { $0 }
            }
    }

    // MARK: Then

    private func expectDetails(_ text: String, _ quoted: [String], _ table: [[String]]) throws -> Bool {
        switch text {
        case _ where text.hasPrefix("the resolved details value should be"): try expectValue(try #require(quoted.first))
        case _ where text.hasPrefix("the reason should be"): #expect(details?.reason.rawValue == quoted.first)
        case _ where text.hasPrefix("the error-code should be"): #expect(details?.errorCode?.rawValue == quoted.first)
        case _ where text.hasPrefix("the flag key should be"): #expect(details?.flagKey == quoted.first)
        case _ where text.hasPrefix("the variant should be") && quoted.count == 1:
            #expect(details?.variant == quoted.first)
        case "the resolved metadata is empty": #expect(details?.metadata == [:])
        case "the resolved metadata should contain":
            for row in table.dropFirst() { #expect(details?.metadata[row[0]] == (try typed(row[2], row[1]))) }
        case _ where text.hasPrefix("the provider status should be"):
            #expect(client?.status.rawValue == quoted.first)
        case "the specified hooks should execute during evaluation":
            #expect(calls.stages(of: "one") == ["before", "after", "finally"])
            #expect(calls.stages(of: "two") == ["before", "after", "finally"])
        case "the hook order should be maintained":
            #expect(
                calls.all.map { "\($0.stage) \($0.hook)" } == [
                    "before one", "before two", "after two", "after one", "finally two", "finally one",
                ]
            )
        case "the original evaluation context should remain unmodified":
            #expect(invocation == ["modifiable": ["list": [1, 2]]])
        case "the evaluation details should be immutable":
            // Details are values: changing a copy leaves the original unchanged.
            var copy = try #require(details)
            copy.metadata["changed"] = true
            #expect(details?.metadata["changed"] == nil)
        case "the evaluation should complete without blocking": #expect(details != nil)
        case _ where text.hasPrefix("The merged context contains an entry"):
            #expect(seenContext.attributes[try #require(quoted.first)] == .string(try #require(quoted.last)))
        default: return try expectHooks(text, quoted, table)
        }
        return true
    }

    private func expectHooks(_ text: String, _ quoted: [String], _ table: [[String]]) throws -> Bool {
        if text.hasSuffix("hook should have been executed") {
            #expect(calls.stages(of: "hook").contains(try #require(quoted.first)))
            return true
        }
        guard text.hasSuffix("hooks should be called with evaluation details") else { return false }
        for stage in try #require(quoted.first).split(separator: ", ") {
            let seen = try #require(calls.all.first { $0.stage == stage }?.details)
            for row in table.dropFirst() {
                let actual: FlagValue =
                    switch row[1] {
                    case "flag_key": .string(seen.flagKey)
                    case "value": seen.value
                    case "variant": seen.variant.map { .string($0) } ?? "null"
                    case "reason": .string(seen.reason.rawValue)
                    case "error_code": seen.errorCode.map { .string($0.rawValue) } ?? "null"
                    default: throw UnknownStep(description: row[1])
                    }
                #expect(actual == (try typed(row[2], row[0])), "\(row[1]) in \(stage)")
            }
        }
        return true
    }

    // MARK: The older form of the suite

    private func expectOldForm(_ text: String, _ quoted: [String]) async throws -> Bool {
        if text.hasPrefix("context contains keys"), quoted.count >= 7 {
            // "fn", "ln", "age", "customer" with values "…", "…", 29, "false"
            invocation = [
                quoted[0]: .string(quoted[4]), quoted[1]: .string(quoted[5]), quoted[2]: 29,
                quoted[3]: .bool(quoted[6] == "true"),
            ]
        } else if text.contains(" is evaluated "), let key = quoted.first {
            asked = (Self.type(named: text), key, Self.fallback(in: text, quoted))
            try await evaluate()
        } else if text.hasPrefix("the resolved flag value is"), text.hasSuffix("when the context is empty") {
            invocation = [:]
            try await evaluate()
            try expectValue(try #require(quoted.first))
        } else if text.contains("should be contain fields") {
            #expect(details?.value == ["showImages": true, "title": .string(quoted[4]), "imagesPerPage": 100])
        } else if text.hasPrefix("the variant should be"), quoted.count == 2 {
            #expect(details?.variant == quoted[0])
            #expect(details?.reason.rawValue == quoted[1])
        } else if text.contains("details value should be") {
            let value = quoted.count == 3 ? quoted[0] : Self.bareValue(in: text)
            try expectValue(value)
            #expect(details?.variant == quoted[quoted.count - 2])
            #expect(details?.reason.rawValue == quoted.last)
        } else if text.hasPrefix("the resolved ") {
            try expectValue(quoted.first ?? Self.bareValue(in: text))
        } else if text.hasPrefix("the default "), text.hasSuffix("value should be returned") {
            try expectValue(try #require(asked).fallback)
        } else if text.hasPrefix("the reason should indicate an error") {
            #expect(details?.reason == .error)
            #expect(details?.errorCode?.rawValue == quoted.last)
        } else {
            return false
        }
        return true
    }

    private static func type(named text: String) -> String {
        if text.contains("evaluated as an integer") { return "Integer" }
        for type in ["boolean", "integer", "float", "object"] where text.contains("\(type) flag") { return type }
        return "String"
    }

    private static func fallback(in text: String, _ quoted: [String]) -> String {
        if text.contains("null default value") { return "null" }
        return quoted.count > 1 ? quoted[1] : String(text.split(separator: " ").last ?? "")
    }

    /// The number in `value should be 10`, whatever follows it.
    private static func bareValue(in text: String) -> String {
        guard let range = text.range(of: "should be ") else { return "" }
        return String(text[range.upperBound...].prefix { $0 != "," && $0 != " " })
    }

    /// The quoted strings, in which `\"` is an escaped quotation mark.
    static func quoted(in text: String) -> [String] {
        var found: [String] = []
        var current: String?
        var isEscaped = false
        for character in text {
            if isEscaped {
                current?.append(character)
                isEscaped = false
            } else if character == "\\", current != nil {
                isEscaped = true
            } else if character == "\"" {
                if let text = current { found.append(text) }
                current = current == nil ? "" : nil
            } else {
                current?.append(character)
            }
        }
        return found
    }
}
