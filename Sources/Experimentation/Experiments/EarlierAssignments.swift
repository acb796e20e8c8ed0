/// Assignments stored elsewhere that are to be honored: the user's variation in each variation group.
///
/// ```swift
/// session.honor(["checkout": "green"])
/// session.honor(EarlierAssignments(before.assignments))
/// ```
public struct EarlierAssignments: Sendable, Hashable, Codable, ExpressibleByDictionaryLiteral {
    /// The ids of variations by the ids of their groups.
    public var variations: [String: String]

    /// Creates assignments from the ids of variations by the ids of their groups.
    public init(_ variations: [String: String] = [:]) { self.variations = variations }

    /// Creates assignments from earlier decisions; holdouts and assignments forced on a device are left out.
    public init(_ assignments: [Assignment]) {
        let kept = assignments.filter { !$0.isHoldout && $0.origin != .forcedHere }
        variations = Dictionary(kept.map { ($0.group, $0.variation.id) }) { first, _ in first }
    }

    /// Creates assignments from pairs of group and variation; the last of a group counts.
    public init(dictionaryLiteral elements: (String, String)...) {
        variations = Dictionary(elements) { _, last in last }
    }

    /// Decodes an object of variations by group.
    public init(from decoder: any Decoder) throws {
        variations = try decoder.singleValueContainer().decode([String: String].self)
    }

    /// Encodes an object of variations by group.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(variations)
    }
}
