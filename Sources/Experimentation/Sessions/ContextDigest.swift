import Foundation

/// Distinguishes contexts by everything that a vendor's answer may depend on, without keeping any of it.
///
/// Texts count byte by byte, so that equivalent spellings in Unicode are different contexts. No date is part of it,
/// neither the context's own nor when attributes were set: two sessions of a user differ in those alone.
struct ContextDigest: Sendable, Hashable {
    private let words: SIMD4<UInt64>

    /// Creates the digest of a context; `nil` if a number in it isn't finite, or a value is nested too deeply to be
    /// sent.
    init?(_ context: EvaluationContext) {
        var writer = JSONWriter(.exact, capacity: 256)
        guard (try? writer.value(Self.document(context))) != nil else { return nil }
        let bytes = Digest.sha256(writer.bytes)
        var words = SIMD4<UInt64>()
        for (place, byte) in bytes.enumerated() { words[place / 8] = words[place / 8] << 8 | UInt64(byte) }
        self.words = words
    }

    private static func document(_ context: EvaluationContext) -> FlagValue {
        let user = context.user
        return [
            "id": .string(user.id), "anonymous": user.anonymousID.map { .string($0) } ?? .null,
            "authenticated": .bool(user.isAuthenticated), "consent": .string(user.consent.rawValue),
            "attributes": .object(user.attributes.values),
            "earlier": .object(context.earlierAssignments.mapValues { .string($0) }),
            "overrides": .array(context.overrides.map(Self.document)),
        ]
    }

    private static func document(_ override: AssignmentOverride) -> FlagValue {
        switch override {
        case .include(let experiment, let variation):
            ["include": .string(experiment), "variation": variation.map { .string($0) } ?? .null]
        case .exclude(let experiment): ["exclude": .string(experiment)]
        }
    }
}
