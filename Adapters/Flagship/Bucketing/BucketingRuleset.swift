import Experimentation
import Foundation

/// All campaigns of a bucketing file, ready to decide for any visitor.
///
/// Everything that doesn't depend on the visitor is computed when the ruleset is created: the hash of each group's id,
/// the types of each condition's target, and the possible values of each flag.
struct BucketingRuleset: Ruleset {
    struct Campaign: Sendable {
        var isOpenTo: [Range<Double>]
        /// Whether it counts towards the limit of one test per visitor.
        var isTest: Bool
        /// Its groups, among all campaigns' groups.
        var groups: Range<Int>
    }

    struct Group: Sendable {
        var id: String
        /// The hash of the id, to be continued with a visitor's id.
        var hash: FlagshipMurmur3
        var targeting: [[BucketingRule]]
        /// Whether it matches a visitor whose context doesn't set the key for all visitors; `nil` if a condition asks
        /// for anything else.
        var isForEverybody: Bool?
        /// Its variations, among all campaigns' variations.
        var variations: Range<Int>
    }

    /// A variation; it has the same number among the catalogue's assignments.
    struct Choice: Sendable {
        var id: String
        /// The position, out of a hundred, below which it is chosen.
        var upTo: Int
        /// The flags that it sets, among the settings of all variations; sorted by flag.
        var settings: Range<Int>
    }

    /// A flag that a variation sets, and the number of the outcome that is its value.
    struct Setting: Sendable {
        var flag: Int
        var outcome: Int
    }

    let rules: FlagshipRules
    let catalogue: FlagCatalogue
    private let isOneTestPerVisitor: Bool
    private let campaigns: [Campaign]
    private let groups: [Group]
    private let variations: [Choice]
    private let settings: [Setting]
    /// For each flag, the campaigns that can set it, in order of precedence.
    private let candidates: [[Int]]
    /// The number of campaigns, and of lists of groups or variations, that couldn't be read.
    let unreadable: Int

    /// Prepares a file for decisions by these rules and with the device's part of the context.
    init(_ file: CampaignsDocument, rules: FlagshipRules, automatic: [String: FlagValue]) {
        self.rules = rules
        isOneTestPerVisitor = rules == .server && file.settings?.enabled1V1T == true
        var builder = BucketingRulesetBuilder(rules: rules, automatic: automatic)
        campaigns = builder.campaigns(of: file)
        unreadable = builder.unreadable
        groups = builder.groups
        variations = builder.variations
        settings = builder.settings
        catalogue = FlagCatalogue(flags: builder.flags, assignments: builder.assignments)
        candidates = builder.candidates
    }

    func decisions(for context: EvaluationContext) -> Decisions {
        var outcomes = [Int?](repeating: nil, count: catalogue.count)
        var flagless: [Int] = []
        var hasTest = false
        let isOrdinary = isOrdinary(context)
        for campaign in campaigns.indices {
            let found = variation(of: campaign, for: context, hasTest: hasTest, isOrdinary: isOrdinary)
            guard found >= 0 else { continue }
            hasTest = hasTest || campaigns[campaign].isTest
            // Later campaigns win over earlier ones that set the same flag.
            let set = variations[found].settings
            for index in set { outcomes[settings[index].flag] = settings[index].outcome }
            if set.isEmpty { flagless.append(found) }
        }
        return Decisions(catalogue: catalogue, outcomes: outcomes, alsoAssigned: flagless)
    }

    func outcome(ofFlag flag: Int, for context: EvaluationContext) -> Int? {
        guard candidates.indices.contains(flag) else { return nil }
        // Which test is the visitor's only one depends on all earlier campaigns.
        if isOneTestPerVisitor { return decisions(for: context).outcome(ofFlag: flag) }
        let isOrdinary = isOrdinary(context)
        for campaign in candidates[flag] {
            let found = variation(of: campaign, for: context, hasTest: false, isOrdinary: isOrdinary)
            if found >= 0, let outcome = outcome(ofFlag: flag, in: variations[found].settings) { return outcome }
        }
        return nil
    }

    /// The outcome of a flag among the settings of a variation.
    private func outcome(ofFlag flag: Int, in range: Range<Int>) -> Int? {
        let found = settings[range].position { $0.flag < flag }
        return found < range.upperBound && settings[found].flag == flag ? settings[found].outcome : nil
    }

    // A file has no dates; when a campaign begins or ends, there is another file.
    func nextChange(after date: Date) -> Date { .distantFuture }

    var count: Int { campaigns.count }

    // MARK: One campaign

    /// Whether the context doesn't set the key for all visitors, as an application's never does.
    private func isOrdinary(_ context: EvaluationContext) -> Bool {
        context.user.attributes.values[FlagshipContextKey.allUsers] == nil
    }

    /// The number of the variation that a visitor gets in one campaign, or -1.
    private func variation(
        of campaign: Int,
        for context: EvaluationContext,
        hasTest: Bool,
        isOrdinary: Bool
    ) -> Int {
        if rules == .server {
            if isOneTestPerVisitor, campaigns[campaign].isTest, hasTest { return -1 }
            let bucket = Double(FlagshipMurmur3.hash(context.flagshipVisitor) % 100)
            guard campaigns[campaign].isOpenTo.contains(where: { $0.contains(bucket) }) else { return -1 }
        }
        for group in campaigns[campaign].groups {
            let isKnown = isOrdinary ? groups[group].isForEverybody : nil
            guard isKnown ?? groups[group].isMeant(for: context, by: rules) else { continue }
            let range = groups[group].variations
            if !context.earlierAssignments.isEmpty, let earlier = context.earlierAssignments[groups[group].id] {
                // With either set of rules, a deleted variation leaves its visitors without the campaign. The original
                // still reports them as assigned to it; that is a defect, which isn't repeated here.
                let found = range.first { variations[$0].id == earlier } ?? -1
                // The SDK remembers an assignment by its flags, and so remembers none without flags.
                if rules != .ios || found < 0 || !variations[found].settings.isEmpty { return found }
            }
            var hash = groups[group].hash
            hash.feed(context.flagshipVisitor)
            let place = Int(hash.value % 100)
            for index in range where place < variations[index].upTo { return index }
            // The server considers only the first group; the SDK continues with the next.
            if rules == .server { return -1 }
        }
        return -1
    }
}

extension BucketingRuleset.Group {
    /// Whether the group is meant for a visitor.
    func isMeant(for context: EvaluationContext, by rules: FlagshipRules) -> Bool {
        switch rules {
        case .ios: return targeting.contains { $0.allSatisfy { $0.holdsOnIOS(for: context) } }
        case .server:
            var isMeant = false
            for list in targeting where !list.isEmpty {
                var all = true
                for rule in list {
                    guard let holds = rule.holdsOnServer(for: context) else { return false }
                    all = all && holds
                }
                isMeant = isMeant || all
            }
            return isMeant
        }
    }
}
