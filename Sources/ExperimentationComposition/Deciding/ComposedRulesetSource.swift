import Experimentation
import Synchronization

/// Fetches the rules of several vendors concurrently; a failing vendor keeps its last good ones.
final class ComposedRulesetSource: RulesetSource {
    private struct Held: Sendable {
        var ruleset: any Ruleset
        var validator: String?
        var raw: [UInt8]
        var isStale = false
    }

    private let parts: Parts
    private let sources: [any RulesetSource]
    private let log: any LogSink
    private let held: Mutex<[Held?]>
    let freshness: Freshness
    /// The validator of the combined rules; each vendor's own validator is kept with its rules.
    private static let validator = "composed"

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - parts: The vendors.
    ///   - sources: The source of each deciding vendor's rules, in order.
    ///   - log: Where failing vendors are reported.
    init(_ parts: Parts, _ sources: [any RulesetSource], log: any LogSink) {
        self.parts = parts
        self.sources = sources
        self.log = log
        held = Mutex(Array(repeating: nil, count: sources.count))
        freshness = Freshness(of: sources.map(\.freshness))
    }

    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
        let before = held.withLock { $0 }
        let throwings = parts.deciding.map(\.killSwitch.throwings)
        let answers = await sources.indices.asyncMap { [sources] index -> Result<RulesetAnswer, ExperimentationError> in
            let known = before.count == 1 ? validator : validator.flatMap { _ in before[index]?.validator }
            do throws(ExperimentationError) {
                return .success(try await sources[index].ruleset(ifNot: known))
            } catch {
                return .failure(error)
            }
        }
        if let failure = answers.commonFailure { throw failure }
        var isChanged = false
        for (index, answer) in answers.enumerated() {
            let killSwitch = parts.deciding[index].killSwitch
            if case .success(let answer) = answer {
                let isOff = if case .disabled = answer { true } else { false }
                await killSwitch.set(isOff, asOf: throwings[index])
            }
            if take(answer, index) { isChanged = true }
        }
        if parts.deciding.allSatisfy(\.killSwitch.isOn) { return .disabled }
        guard isChanged || validator == nil else { return .unchanged }
        return replaced()
    }

    /// Records an answer; returns whether it changes the rules.
    private func take(_ answer: Result<RulesetAnswer, ExperimentationError>, _ index: Int) -> Bool {
        held.withLock { held in
            switch answer {
            case .success(.replaced(let ruleset, let validator, let raw)):
                held[index] = Held(ruleset: ruleset, validator: validator, raw: raw)
                return true
            case .success(.unchanged):
                defer { held[index]?.isStale = false }
                return held[index]?.isStale ?? false
            case .success(.disabled): return false
            case .failure(let error):
                let name = parts.deciding[index].name
                log.log(.warning, "composition.refresh", "No decisions from \(name), the others go on: \(error)")
                defer { held[index]?.isStale = true }
                return held[index].map { !$0.isStale } ?? false
            }
        }
    }

    private func replaced() -> RulesetAnswer {
        let held = held.withLock { $0 }
        let rules = held.map { $0.map { ComposedRuleset.Rules(ruleset: $0.ruleset, isStale: $0.isStale) } }
        let ruleset = ComposedRuleset(rules, of: parts)
        if held.count == 1, let only = held[0] {
            return .replaced(ruleset, validator: only.validator, raw: only.raw)
        }
        var archive = RulesArchive()
        for (part, held) in zip(parts.deciding, held) {
            if let held { archive.entries[part.name] = .init(validator: held.validator, raw: held.raw) }
        }
        return .replaced(ruleset, validator: Self.validator, raw: archive.written)
    }

    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset {
        if sources.count == 1 {
            let ruleset = try sources[0].ruleset(restoring: raw)
            held.withLock { $0[0] = Held(ruleset: ruleset, validator: nil, raw: raw) }
            return ComposedRuleset([ComposedRuleset.Rules(ruleset: ruleset)], of: parts)
        }
        guard let archive = RulesArchive(written: raw) else {
            throw ExperimentationError(.parseError, "The stored rules of a composition can't be read.")
        }
        var restored: [Held?] = []
        for (part, source) in zip(parts.deciding, sources) {
            let entry = archive.entries[part.name]
            let ruleset = entry.flatMap { try? source.ruleset(restoring: $0.raw) }
            restored.append(ruleset.map { Held(ruleset: $0, validator: entry?.validator, raw: entry?.raw ?? []) })
        }
        guard restored.contains(where: { $0 != nil }) else {
            throw ExperimentationError(.parseError, "None of the stored rules of a composition can be read.")
        }
        held.withLock { $0 = restored }
        return ComposedRuleset(restored.map { $0.map { ComposedRuleset.Rules(ruleset: $0.ruleset) } }, of: parts)
    }
}

extension Freshness {
    /// Combines freshness: the shortest lifetime, the shortest interval, and the highest age of an answer.
    init(of all: [Freshness]) {
        self.init(
            lifetime: all.compactMap(\.lifetime).min(),
            polling: all.compactMap(\.polling).min(),
            afterExpiry: all.contains { $0.afterExpiry == .notReady } ? .notReady : .stale
        )
        answerAge = all.map(\.answerAge).max() ?? .zero
    }
}

extension [Result<RulesetAnswer, ExperimentationError>] {
    /// The error if all vendors failed; otherwise `nil`.
    fileprivate var commonFailure: ExperimentationError? {
        var first: ExperimentationError?
        for answer in self {
            guard case .failure(let error) = answer else { return nil }
            if first == nil { first = error }
        }
        return first
    }
}
