import Experimentation
import Foundation

/// The campaigns that brought users here, and how long each counts.
///
/// Behaviors carry the campaign of the time when they happened, however late they are sent, so the shelf
/// keeps the latest campaigns with their times.
struct CampaignShelf: Sendable, Hashable, Codable {
    /// A campaign with its beginning and end.
    struct Entry: Sendable, Hashable, Codable {
        var name: String
        var from: Date
        var until: Date
        /// The ids of the user whom it brought; empty if it belongs to no user in particular.
        var users: [String] = []

        /// Whether it brought a user.
        func isOf(_ userID: String) -> Bool { users.contains { ExactText($0) == ExactText(userID) } }
    }

    /// The maximum number of campaigns kept.
    static let longest = 50

    /// Sorted by beginning, earliest first; ``put(_:)`` adds to them.
    var entries: [Entry] = []
    /// When all campaigns were last removed; `nil` for never.
    private(set) var emptied: Date?

    init() {}

    /// Creates an empty shelf to which campaigns up to a time don't return.
    init(emptied date: Date) { emptied = date }

    /// Adds a campaign; adding the same one with the same beginning again has no effect.
    mutating func put(_ entry: Entry) {
        let isKnown = entries.contains { known in
            known.name == entry.name && known.from == entry.from
                && (known.users == entry.users || entry.users.contains(where: known.isOf))
        }
        if isKnown { return }
        let place = entries.firstIndex { $0.from > entry.from } ?? entries.endIndex
        entries.insert(entry, at: place)
        if entries.count > Self.longest { entries.removeFirst(entries.count - Self.longest) }
    }

    /// Adds the campaign of an event that has waited, unless all campaigns were removed since it happened.
    mutating func putLate(_ entry: Entry, at now: Date) {
        // A removal in the future was before the clock was set back: it says nothing about the order.
        if let emptied, entry.from <= emptied, emptied <= now { return }
        put(entry)
    }

    /// Gives campaigns to a user; other users may have them, too.
    mutating func give(to userID: String, where isGiven: (Entry) -> Bool) {
        for place in entries.indices where isGiven(entries[place]) && !entries[place].isOf(userID) {
            entries[place].users.append(userID)
        }
    }

    /// Returns the campaign that counts at a given time; empty if there is none, or the last one has ended.
    func current(at date: Date) -> String {
        guard let entry = entries.last(where: { $0.from <= date }), date <= entry.until else { return "" }
        return entry.name
    }

    /// Returns the latest campaign before a given time, ended or not; empty if there is none.
    func last(at date: Date) -> String { entries.last { $0.from <= date }?.name ?? "" }
}

extension CampaignShelf.Entry {
    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        name = try values.decode(String.self, forKey: .name)
        from = try values.decode(Date.self, forKey: .from)
        until = try values.decode(Date.self, forKey: .until)
        // Earlier versions stored no users.
        users = try values.decodeIfPresent([String].self, forKey: .users) ?? []
    }
}

/// Finds a campaign in the values of links and notifications.
struct CampaignScan: Sendable, Hashable {
    let names: EngageConfiguration.ParameterNames
    let lifetime: Duration

    /// Finds the campaign and determines how long it counts.
    ///
    /// A date takes precedence over an end in seconds, an end over a length, a length over the default. An end that
    /// isn't a number of seconds means now, as in the reference; the text of a date or length is parsed by
    /// ``Expiration``.
    func campaign(in values: [String: FlagValue], at date: Date, of userID: String?) -> CampaignShelf.Entry? {
        guard let name = text(names.currentCampaign, in: values), !name.isEmpty else { return nil }
        let until: Date
        if let moment = text(names.campaignExpiresAt, in: values), !moment.isEmpty {
            until = Expiration(moment).date(from: date) ?? date
        } else if let end = text(names.campaignEnd, in: values), !end.isEmpty {
            let seconds = Double(end.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
            until = Date(timeIntervalSince1970: seconds.isFinite ? min(max(seconds, 0), 253_402_300_799) : 0)
        } else if let length = text(names.campaignValidFor, in: values), !length.isEmpty {
            until = Expiration(length).date(from: date) ?? date
        } else {
            until = date.addingTimeInterval(Double(lifetime.components.seconds))
        }
        return CampaignShelf.Entry(name: name, from: date, until: until, users: userID.map { [$0] } ?? [])
    }

    /// Returns the text of a key, first at the top level and then ever deeper in nested objects; never in lists.
    ///
    /// It searches level by level and by sorted names, so that of several texts it always finds the same one.
    func text(_ key: String, in values: [String: FlagValue]) -> String? {
        var level = [values]
        while !level.isEmpty {
            for object in level {
                switch object[key] {
                case .string(let text): return text
                // Payloads contain unquoted numbers, mostly for the key of an end in seconds.
                case .int(let number): return String(number)
                default: continue
                }
            }
            level = level.flatMap { object in object.sorted { $0.key < $1.key }.compactMap(\.value.objectValue) }
        }
        return nil
    }
}
