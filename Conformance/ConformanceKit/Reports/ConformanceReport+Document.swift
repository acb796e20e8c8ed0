import Experimentation
import Foundation

extension ConformanceReport {
    /// The report as a document.
    ///
    /// - Parameter timings: Whether to include the date and the duration of each case; without them, two successful
    ///   runs produce the same document.
    /// - Returns: The document, as described by `docs/schemas/conformance-report.schema.json`.
    public func document(timings: Bool = true) -> FlagValue {
        var document: [String: FlagValue] = [
            "schema": "conformance-report/2",
            "success": .bool(isSuccess),
            "suite": .string(suite),
            "platform": .string(platform),
            "promises": .object(
                Dictionary(uniqueKeysWithValues: Promise.texts.map { (String($0.key), .string($0.value)) })
            ),
            "subjects": .array(subjects.map { $0.document(timings: timings) }),
        ]
        if timings, let date { document["date"] = .string(date.iso8601Milliseconds) }
        return .object(document)
    }

    /// The report as JSON with sorted keys.
    ///
    /// - Parameter timings: Whether to include the date and the duration of each case.
    /// - Returns: The JSON in UTF-8.
    /// - Throws: Never in practice: a report holds nothing that JSON can't represent.
    public func json(timings: Bool = true) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(document(timings: timings)))
    }
}

extension ConformanceReport.Subject {
    func document(timings: Bool) -> FlagValue {
        var members: [String: FlagValue] = [
            "name": .string(name),
            "capabilities": .array(capabilities.map { .string($0.rawValue) }),
            "counts": .object(counts.mapValues { .int($0) }),
            "verified": .array(verified.map { .string($0.rawValue) }),
            "unproven": .array(unproven.map { .string($0.rawValue) }),
            "evidence": evidence.document,
            "deviations": .array(deviations.map(\.document)),
            "idleDeviations": .array(idleDeviations.map(\.document)),
            "wireFields": .array(wireFields.map(\.rawValue).sorted().map { .string($0) }),
            "wireReasons": .object(
                Dictionary(uniqueKeysWithValues: wireReasons.map { ($0.key.rawValue, .string($0.value)) })
            ),
            "skipped": .array(skipped.map { .string($0) }),
            "cases": .array(
                results.map { $0.document(timings: timings, isInferred: restsOnInference($0)) }
            ),
        ]
        if let version { members["version"] = .string(version) }
        return .object(members)
    }
}

extension KnownDeviation {
    /// The JSON form.
    fileprivate var document: FlagValue {
        var members: [String: FlagValue] = ["case": .string(caseName), "reason": .string(reason)]
        if let link { members["link"] = .string(link) }
        return .object(members)
    }
}

extension CaseResult {
    func document(timings: Bool, isInferred: Bool = false) -> FlagValue {
        var members: [String: FlagValue] = [
            "name": .string(name), "promise": .int(promise), "summary": .string(summary),
            "outcome": .string(outcome.word),
        ]
        if isInferred { members["inferred"] = true }
        if let reason = outcome.reason { members["reason"] = .string(reason) }
        if case .deviates(let record, _) = outcome, let link = record.link { members["link"] = .string(link) }
        if timings { members["milliseconds"] = .double((milliseconds * 10).rounded() / 10) }
        if !outcome.failures.isEmpty {
            members["failures"] = .array(
                outcome.failures.map {
                    ["message": .string($0.message), "file": .string($0.file), "line": .int($0.line)]
                }
            )
            members["story"] = [
                "steps": .array(story.steps.map { .string($0) }),
                "exchanges": .array(story.exchanges.map(\.document)),
            ]
        }
        return .object(members)
    }

    /// The duration in milliseconds.
    var milliseconds: Double {
        Double(duration.components.seconds) * 1_000 + Double(duration.components.attoseconds) / 1e15
    }
}

extension Exchange {
    /// The JSON form.
    public var document: FlagValue {
        var members: [String: FlagValue] = [
            "number": .int(number), "purpose": .string(purpose.rawValue), "operation": .string(operation),
            "method": .string(method), "path": .string(path), "bytesIn": .int(bytesIn), "bytesOut": .int(bytesOut),
            "connection": .int(connection),
        ]
        members["status"] = status.map { .int($0) } ?? .null
        if let fault { members["fault"] = .string(fault) }
        if !request.isEmpty { members["request"] = .string(request) }
        if let response { members["response"] = .string(response) }
        return .object(members)
    }
}
