import Experimentation

/// The contents of a bucketing file: campaigns with variation groups and their targeting rules.
///
/// Read member by member, as the original SDK does: a missing member, or one of the wrong type, takes its default, and
/// the rest of the file still counts.
struct BucketingFile: Sendable {
    struct Campaign: Sendable {
        var id: String
        var type: String
        /// The ranges of visitors that the campaign is open to; only the server's rules use them.
        var bucketRanges: [Range<Double>] = []
        var groups: [Group] = []
    }

    struct Group: Sendable {
        var id: String
        /// Alternative lists of rules that must all hold; `nil` for an unreadable one.
        var targeting: [[Rule]?] = []
        var variations: [Variation] = []
    }

    /// A condition in its written form.
    struct Rule: Sendable {
        var key: String
        var comparison: String
        var target: FlagValue
    }

    struct Variation: Sendable {
        /// The campaign, the group and the variation itself.
        var origin: FlagshipFlagMetadata
        var allocation: Int
        var flags: [(key: String, value: FlagValue)]
    }

    var isPanicking: Bool
    /// The account's settings: whether each visitor gets one test only, and troubleshooting.
    var settings: AccountSettings
    var campaigns: [Campaign]
    /// The number of unreadable campaigns, groups and variations.
    var unreadable: Int

    /// Reads a file.
    ///
    /// - Throws: ``ErrorCode/parseError`` if it isn't an object, or has neither campaigns nor a panic.
    init(_ json: FlagValue) throws(ExperimentationError) {
        guard let members = json.objectValue else {
            throw ExperimentationError(.parseError, "the bucketing file: an object is expected at the top")
        }
        isPanicking = members["panic"]?.boolValue ?? false
        settings = AccountSettings(members["accountSettings"]?.objectValue ?? [:])
        var reader = Reader()
        if let list = members["campaigns"]?.arrayValue {
            campaigns = list.compactMap { reader.campaign($0) }
        } else if isPanicking {
            campaigns = []
        } else {
            throw ExperimentationError(.parseError, "the bucketing file: 'campaigns' must be a list")
        }
        unreadable = reader.unreadable
    }

    private struct Reader {
        var unreadable = 0

        mutating func campaign(_ json: FlagValue) -> Campaign? {
            guard let members = json.objectValue else {
                unreadable += 1
                return nil
            }
            let origin = FlagshipFlagMetadata(campaign: members)
            var campaign = Campaign(id: origin.campaignId, type: origin.campaignType)
            for range in members["bucketRanges"]?.arrayValue ?? [] {
                let ends = range.objectValue?["r"]?.arrayValue?.compactMap(\.doubleValue) ?? []
                if ends.count == 2, ends[0] < ends[1] { campaign.bucketRanges.append(ends[0]..<ends[1]) }
            }
            for group in objects(members["variationGroups"]) { campaign.groups.append(self.group(group, of: origin)) }
            return campaign
        }

        private mutating func group(_ members: [String: FlagValue], of campaign: FlagshipFlagMetadata) -> Group {
            var group = Group(id: members.text("id"))
            for list in objects(members["targeting"]?.objectValue?["targetingGroups"]) {
                group.targeting.append(rules(list["targetings"]))
            }
            var origin = campaign
            (origin.variationGroupId, origin.variationGroupName) = (group.id, members.text("name"))
            for variation in objects(members["variations"]) {
                origin.add(variation: variation)
                let allocation = variation["allocation"]?.intValue ?? 0
                group.variations.append(Variation(origin: origin, allocation: allocation, flags: variation.flags))
            }
            return group
        }

        private func rules(_ json: FlagValue?) -> [Rule]? {
            guard let list = json?.arrayValue else { return nil }
            let objects = list.compactMap(\.objectValue)
            // As in the original, one element that isn't an object makes the whole list unreadable.
            guard objects.count == list.count else { return nil }
            return objects.map {
                Rule(key: $0.text("key"), comparison: $0.text("operator"), target: $0["value"] ?? .null)
            }
        }

        /// Returns the objects of a list; a list with anything else in it counts as empty, as in the original.
        private mutating func objects(_ json: FlagValue?) -> [[String: FlagValue]] {
            guard let list = json?.arrayValue else { return [] }
            let objects = list.compactMap(\.objectValue)
            if objects.count == list.count { return objects }
            unreadable += 1
            return []
        }
    }
}
