import Experimentation

/// All campaigns of a bucketing file, ready to decide for any visitor.
///
/// Everything that doesn't depend on the visitor is computed when it is created: the hash of each group's id, the types
/// of each condition's target, and the possible values of each flag.
struct BucketingRuleset: Ruleset {
    struct Campaign: Sendable {
        var isOpenTo: [Range<Double>]
        /// Whether it counts towards the limit of one test per visitor.
        var isTest: Bool
        var groups: [Group]
        /// The number of its first variation among those of all campaigns.
        var firstVariation: Int
    }

    struct Group: Sendable {
        var id: String
        /// The hash of the id, to be continued with a visitor's id.
        var hash: FlagshipMurmur3
        var targeting: [[BucketingRule]]
        /// For each variation its number, its id, and the upper end of its bucket range out of 100.
        var variations: [Variation]
    }

    struct Variation: Sendable {
        var number: Int
        var id: String
        var upTo: Int
        /// Its index in the catalogue's assignments.
        var assignment: Int
        /// The flags that it sets, with the outcome's index as the value.
        var flags: [(flag: Int, outcome: Int)]
    }

    /// A campaign that can set a flag, with the outcome of each of its variations; -1 for those that don't set it.
    struct Candidate: Sendable {
        var campaign: Int
        var outcomes: [Int]
    }

    let rules: FlagshipRules
    let catalogue: FlagCatalogue
    private let isOneTestPerVisitor: Bool
    private let campaigns: [Campaign]
    /// For each flag the campaigns that can set it, the winning ones first.
    private let candidates: [[Candidate]]

    /// Prepares a file.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - rules: The rules to decide by.
    ///   - automatic: The context that the device provides.
    init(_ file: BucketingFile, rules: FlagshipRules, automatic: [String: FlagValue]) {
        self.rules = rules
        isOneTestPerVisitor = rules == .server && file.settings.enabled1V1T
        var builder = BucketingRulesetBuilder(rules: rules, automatic: automatic)
        campaigns = builder.campaigns(of: file)
        catalogue = FlagCatalogue(flags: builder.flags, assignments: builder.assignments)
        candidates = builder.candidates
    }

    func decisions(for context: EvaluationContext) -> Decisions {
        var outcomes = [Int?](repeating: nil, count: catalogue.count)
        var flagless: [Int] = []
        var hasTest = false
        for campaign in campaigns {
            guard let variation = variation(of: campaign, for: context, hasTest: hasTest) else { continue }
            hasTest = hasTest || campaign.isTest
            // Of campaigns that set the same flag, later ones win.
            for (flag, outcome) in variation.flags { outcomes[flag] = outcome }
            if variation.flags.isEmpty { flagless.append(variation.assignment) }
        }
        return Decisions(catalogue: catalogue, outcomes: outcomes, alsoAssigned: flagless)
    }

    func outcome(ofFlag flag: Int, for context: EvaluationContext) -> Int? {
        guard candidates.indices.contains(flag) else { return nil }
        // Which test is the visitor's only one depends on all earlier campaigns.
        if isOneTestPerVisitor { return decisions(for: context).outcome(ofFlag: flag) }
        for candidate in candidates[flag] {
            let campaign = campaigns[candidate.campaign]
            guard let variation = variation(of: campaign, for: context, hasTest: false) else { continue }
            let outcome = candidate.outcomes[variation.number - campaign.firstVariation]
            if outcome >= 0 { return outcome }
        }
        return nil
    }

    /// The number of campaigns.
    var count: Int { campaigns.count }

    /// Returns a visitor's variation of one campaign by number; the benchmark measures this.
    func variation(ofCampaign index: Int, for context: EvaluationContext) -> Int? {
        guard campaigns.indices.contains(index) else { return nil }
        return variation(of: campaigns[index], for: context, hasTest: false)?.number
    }

    // MARK: One campaign

    private func variation(of campaign: Campaign, for context: EvaluationContext, hasTest: Bool) -> Variation? {
        if rules == .server {
            if isOneTestPerVisitor, campaign.isTest, hasTest { return nil }
            let bucket = Double(FlagshipMurmur3.hash(context.user.id) % 100)
            guard campaign.isOpenTo.contains(where: { $0.contains(bucket) }) else { return nil }
        }
        for group in campaign.groups where isMeant(group, context) {
            if let earlier = context.earlierAssignments[group.id] {
                // A removed variation leaves its visitors without the campaign, by either rules; that the original
                // still reports them as assigned is a defect that isn't reproduced.
                let variation = group.variations.first { $0.id == earlier }
                // The SDK remembers an assignment by its flags, and so none without flags.
                if rules != .ios || variation?.flags.isEmpty != true { return variation }
            }
            var hash = group.hash
            hash.feed(context.user.id)
            let place = Int(hash.value % 100)
            for variation in group.variations where place < variation.upTo { return variation }
            // The server looks only at the first group; the SDK continues with the next.
            if rules == .server { return nil }
        }
        return nil
    }

    private func isMeant(_ group: Group, _ context: EvaluationContext) -> Bool {
        switch rules {
        case .ios:
            alternatives: for list in group.targeting {
                for rule in list where !rule.holdsOnIOS(for: context) { continue alternatives }
                return true
            }
            return false
        case .server:
            var isMeant = false
            for list in group.targeting where !list.isEmpty {
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
