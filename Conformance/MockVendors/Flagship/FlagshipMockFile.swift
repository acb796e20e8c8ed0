/// A bucketing file, as the vendor's back end evaluates it.
struct FlagshipMockFile: Sendable {
    struct Campaign: Sendable {
        var id: String
        var name: String
        var slug: MockJSON
        var type: String
        var bucketRanges: [(from: Double, to: Double)]
        var groups: [Group]
    }

    struct Group: Sendable {
        var id: String
        var name: String
        /// `nil` where the member is missing: the group then matches no visitor.
        var targetingGroups: [[Targeting]?]?
        var variations: [Variation]
    }

    struct Targeting: Sendable {
        var key: String
        var comparison: String
        var value: MockJSON
    }

    struct Variation: Sendable {
        var id: String
        var name: String
        var allocation: Int
        var isReference: Bool
        /// Null where the file has none; an SDK then ignores the flags.
        var type: MockJSON
        var flags: [String: MockJSON]
    }

    var panic: Bool
    var settings: MockJSON
    var campaigns: [Campaign]

    var isOneTestPerVisitor: Bool { settings["enabled1V1T"]?.bool ?? false }
    var keepsExperience: Bool { settings["enabledXPC"]?.bool ?? false }

    /// Parses a file; missing members count as empty.
    ///
    /// - Throws: When the text isn't a JSON object, or has neither a list of campaigns nor `panic`.
    init(_ bytes: [UInt8]) throws(MockWorldError) {
        guard let json = MockJSON.parse(bytes) else {
            throw MockWorldError("the bucketing file is not JSON")
        }
        guard json.object != nil else {
            throw MockWorldError("the bucketing file: an object is expected at the top")
        }
        panic = json["panic"]?.bool ?? false
        settings = json["accountSettings"] ?? .object([:])
        if json["campaigns"]?.array == nil, !panic {
            throw MockWorldError("the bucketing file: 'campaigns' must be a list")
        }
        campaigns = (json["campaigns"]?.array ?? []).map(Self.campaign)
    }

    private static func campaign(_ json: MockJSON) -> Campaign {
        Campaign(
            id: json["id"]?.string ?? "",
            name: json["name"]?.string ?? "",
            slug: json["slug"] ?? .null,
            type: json["type"]?.string ?? "",
            bucketRanges: (json["bucketRanges"]?.array ?? []).compactMap { range in
                let ends = (range["r"]?.array ?? []).compactMap(\.number)
                return ends.count == 2 ? (ends[0], ends[1]) : nil
            },
            groups: (json["variationGroups"]?.array ?? []).map(group)
        )
    }

    private static func group(_ json: MockJSON) -> Group {
        Group(
            id: json["id"]?.string ?? "",
            name: json["name"]?.string ?? "",
            targetingGroups: json["targeting"]?["targetingGroups"]?.array.map { groups in
                groups.map { $0["targetings"]?.array.map { $0.map(targeting) } }
            },
            variations: (json["variations"]?.array ?? []).map(variation)
        )
    }

    private static func targeting(_ json: MockJSON) -> Targeting {
        Targeting(
            key: json["key"]?.string ?? "",
            comparison: json["operator"]?.string ?? "",
            value: json["value"] ?? .null
        )
    }

    private static func variation(_ json: MockJSON) -> Variation {
        Variation(
            id: json["id"]?.string ?? "",
            name: json["name"]?.string ?? "",
            allocation: json["allocation"]?.int ?? 0,
            isReference: json["reference"]?.bool ?? false,
            type: json["modifications"]?["type"] ?? .null,
            flags: json["modifications"]?["value"]?.object ?? [:]
        )
    }
}
