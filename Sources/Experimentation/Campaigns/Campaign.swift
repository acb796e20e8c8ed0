/// A message that a vendor wants shown in response to a user's action.
public struct Campaign: Sendable, Hashable, Codable {
    /// The vendor's id of the campaign.
    public var id: String
    /// The campaign's name in the vendor's console.
    public var name: String
    /// Where to show it; handlers are registered by this name.
    public var target: String
    /// The experience of the campaign that this user gets.
    public var experience: Variation
    /// The message within the experience, where the vendor distinguishes messages.
    public var messageID: String
    /// What to show.
    ///
    /// Compare it with what is shown already: the same campaign may come again.
    public var content: [String: FlagValue]
    /// The items that it promotes, by kind: `kind: [id]`.
    public var promotedItems: [String: [String]]
    /// Whether the user is in the control group: show nothing, but do record the impression.
    public var isControlGroup: Bool

    /// Creates a campaign.
    public init(
        id: String,
        name: String = "",
        target: String,
        experience: Variation,
        messageID: String = "",
        content: [String: FlagValue] = [:],
        promotedItems: [String: [String]] = [:],
        isControlGroup: Bool = false
    ) {
        self.id = id
        self.name = name
        self.target = target
        self.experience = experience
        self.messageID = messageID
        self.content = content
        self.promotedItems = promotedItems
        self.isControlGroup = isControlGroup
    }
}

/// What the application does with a campaign; runs on the main actor.
public typealias CampaignHandler = @MainActor @Sendable (Campaign) -> Void
