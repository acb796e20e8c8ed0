import Experimentation

/// The places in a batch of lines, grouped by user, so that concurrent writes never concern the same user.
struct ImportBatch: Sendable {
    /// Places under the ids of one user.
    struct Entry: Sendable, Hashable {
        /// The stable key.
        var user: String
        /// A second id that leads to the same record.
        var id: String?
        /// The places, by ``Person/key(ofGroup:at:in:)``.
        var places: [String: Person.Place] = [:]
    }

    /// The users' entries, in the order of their lines; several where lines name a user by different ids.
    private(set) var users: [[Entry]] = []
    /// The number of users' lines, with or without places.
    var lines = 0
    /// The number of places in the lines.
    private(set) var count = 0
    /// Whether any user has two ids.
    private(set) var hasSecondIDs = false
    private var placeOf: [ExactText: Int] = [:]

    /// Adds a place; of several in one experiment, the first one counts.
    mutating func add(_ place: Person.Place, for key: String, of user: String, _ id: String?) {
        count += 1
        if id != nil { hasSecondIDs = true }
        let index = index(of: [user] + (id.map { [$0] } ?? []))
        let entry = users[index].firstIndex { entry in
            ExactText(entry.user) == ExactText(user) && entry.id.map(ExactText.init) == id.map(ExactText.init)
        }
        if let entry {
            if users[index][entry].places[key] == nil { users[index][entry].places[key] = place }
        } else {
            users[index].append(Entry(user: user, id: id, places: [key: place]))
        }
    }

    /// The index of the user with these ids, who may have counted as two users before this line.
    private mutating func index(of ids: [String]) -> Int {
        let known = Set(ids.compactMap { placeOf[ExactText($0)] }).sorted()
        let index = known.first ?? users.count
        if index == users.count { users.append([]) }
        for other in known.dropFirst() {
            users[index] += users[other]
            users[other] = []
            for (id, place) in placeOf where place == other { placeOf[id] = index }
        }
        for id in ids { placeOf[ExactText(id)] = index }
        return index
    }
}
