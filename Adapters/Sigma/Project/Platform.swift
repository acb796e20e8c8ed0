/// The platform names that include this SDK.
enum Platform {
    /// Whether one of them is ours; an empty list means all.
    static func isOurs(_ platforms: [String]) -> Bool {
        platforms.isEmpty || platforms.contains { ["all", "ios", "app"].contains($0.lowercased()) }
    }
}
