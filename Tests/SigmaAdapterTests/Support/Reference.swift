import AdapterKit
import Experimentation
import Foundation

@testable import SigmaAdapter

/// The wire samples, and rulesets built from them.
enum Reference {
    /// Returns the bytes of a sample.
    static func bytes(_ name: String) throws -> [UInt8] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return try Array(Data(contentsOf: folder.appending(path: "Conformance/Fixtures/Sigma/\(name)")))
    }

    /// A device that is the same on every machine: an iPhone with the version of the numbered cases.
    static let device = SigmaDevice(
        id: "device-1",
        appVersion: "2.10.0",
        osName: "iOS",
        osVersion: "17.4",
        timeZone: .gmt
    )

    /// Returns the rules of a sample.
    static func ruleset(
        _ name: String = "config-reference.json",
        place: [String: String] = [:],
        bucketing: SigmaBucketing = .inferred,
        assuming assumptions: SigmaAssumptions = SigmaAssumptions()
    ) throws -> SigmaRuleset {
        try ruleset(of: bytes(name), place: place, bucketing: bucketing, assuming: assumptions)
    }

    /// Returns the rules in some bytes.
    static func ruleset(
        of bytes: [UInt8],
        place: [String: String] = [:],
        bucketing: SigmaBucketing = .inferred,
        assuming assumptions: SigmaAssumptions = SigmaAssumptions()
    ) throws -> SigmaRuleset {
        let root = try JSONDecoder().decode(SigmaWire.Root.self, from: Data(bytes))
        let project = SigmaProject(root, assuming: assumptions)
        var configuration = SigmaConfiguration(projectToken: "token", device: device)
        (configuration.bucketing, configuration.assumptions) = (bucketing, assumptions)
        return SigmaRuleset(project, in: Surroundings(place: place, configuration: configuration))
    }

    /// Noon of 21 November 2026.
    static let noon = Date(timeIntervalSince1970: 1_795_262_400)

    /// Returns the context of a user who isn't signed in.
    static func context(
        _ id: String = "u-1",
        _ attributes: Attributes = [:],
        overrides: [AssignmentOverride] = [],
        dates: [String: Date] = [:],
        at date: Date = noon
    ) -> EvaluationContext {
        EvaluationContext(
            user: User(id: id, attributes: attributes),
            overrides: overrides,
            attributeDates: dates,
            date: date
        )
    }
}

extension Ruleset {
    /// Returns the values of all flags that exist for a user.
    func values(for context: EvaluationContext) -> [String: FlagValue] {
        let decisions = decisions(for: context)
        return Dictionary(uniqueKeysWithValues: decisions.keys.map { ($0, decisions[$0]?.value ?? .null) })
    }
}
