/// The room that a full store makes at once.
///
/// It is more than the next event needs: one by one, each new event would cost a search for an old one, and on a disk as
/// many writes again.
package enum SpareRoom {
    /// Returns how much a store keeps of what has exceeded its limit: less than the limit by a 128th.
    package static func kept(of limit: Int) -> Int { limit - limit / 128 }
}
