import Experimentation

extension Usage {
    /// The month in a sentence.
    public var sentence: String {
        func some(_ count: Int, _ one: String) -> String { "\(Wording.count(count)) \(one)\(count == 1 ? "" : "s")" }
        return "\(some(monthlyUsers, "user")) with \(some(sessions, "session")) each; in a session "
            + "\(some(reads, "read")) and \(some(events, "event"))"
    }
}

extension Comparison {
    /// The vendors with a known monthly cost, with that cost.
    var monthly: [(vendor: VendorStory, cost: MonthlyCost)] {
        vendors.compactMap { vendor in vendor.monthly.map { (vendor, $0) } }
    }

    /// The vendors whose cost was requested and is unknown.
    var untold: [String] { usage == nil ? [] : vendors.filter { $0.monthly == nil }.map(\.name) }

    /// The lines of growth that there are, each with its title and the vendors' points.
    var growth: [(title: String, unit: String, lines: [(vendor: VendorStory, points: [Growth.Point])])] {
        func lines(_ part: (Growth) -> [Growth.Point]) -> [(VendorStory, [Growth.Point])] {
            vendors.compactMap { vendor in
                let points = vendor.growth.map(part) ?? []
                return points.isEmpty ? nil : (vendor, points)
            }
        }
        return [
            ("Fetching one user's decisions, by the number of flags", "flags", lines(\.flags)),
            ("Delivering events, by their number", "events", lines(\.events)),
        ]
        .filter { !$0.2.isEmpty }
    }
}

extension MonthlyCost {
    /// The figures of a month, as tables show them under ``heads``.
    var cells: [String] {
        [
            Wording.count(requests), Wording.bytes(bytesSent), Wording.bytes(bytesReceived),
            billedEvents.map(Wording.count) ?? "takes none",
        ]
    }

    static let heads = ["Requests", "Sent", "Received", "Billed events"]

    /// An explanation of how the figures were measured.
    static let grounds =
        "Sessions were played with each mock: decisions fetched, flags read, events delivered, and kept for the next "
        + "session what the device keeps. Billed events are those that the vendor takes, exposures among them; what it "
        + "charges for them is in its contract."
}
